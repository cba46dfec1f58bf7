"""Permission questions and a person's answers; the rules that answers for good have made."""

from __future__ import annotations

from fastapi import APIRouter, Response

from glados.server.slot import OpenedApp
from glados.server.wire import AnswerReply, AnswerRequest, JsonResponse, QuestionReply, RuleReply

router = APIRouter(prefix="/api/permissions", tags=["permissions"])


@router.get("", response_model=list[QuestionReply])
async def list_questions(app: OpenedApp) -> JsonResponse:
    """The questions that wait for an answer."""
    return JsonResponse([question.to_dict() for question in app.permissions.pending()])


@router.get("/rules", response_model=list[RuleReply])
async def list_rules(app: OpenedApp, session_id: str | None = None) -> JsonResponse:
    """The rules that were given for good, and those of a session: what, by whom and when."""
    if session_id is not None:
        await app.sessions.get(session_id)
    return JsonResponse([rule.to_dict() for rule in await app.permissions.rules(session_id)])


@router.delete("/rules/{rule_id}", status_code=204)
async def revoke_rule(rule_id: str, app: OpenedApp) -> Response:
    """Take a rule back; from then on a person is asked again."""
    await app.permissions.revoke(rule_id)
    return Response(status_code=204)


@router.post("/{question_id}", response_model=AnswerReply)
async def answer_question(question_id: str, body: AnswerRequest, app: OpenedApp) -> JsonResponse:
    """Answer a question once, for its session, for good, or with no; the first answer counts."""
    question = app.permissions.answer(question_id, body.answer)
    return JsonResponse({"id": question.id, "answer": body.answer})
