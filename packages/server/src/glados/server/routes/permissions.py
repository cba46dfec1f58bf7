"""Permission questions: which ones wait, and a person's answer."""

from __future__ import annotations

from fastapi import APIRouter

from glados.server.slot import OpenedApp
from glados.server.wire import AnswerReply, AnswerRequest, JsonResponse, QuestionReply

router = APIRouter(prefix="/api/permissions", tags=["permissions"])


@router.get("", response_model=list[QuestionReply])
async def list_questions(app: OpenedApp) -> JsonResponse:
    """The questions that wait for an answer."""
    return JsonResponse([question.to_dict() for question in app.permissions.pending()])


@router.post("/{question_id}", response_model=AnswerReply)
async def answer_question(question_id: str, body: AnswerRequest, app: OpenedApp) -> JsonResponse:
    """Answer a question once, for its session, for good, or with no; the first answer counts."""
    question = app.permissions.answer(question_id, body.answer)
    return JsonResponse({"id": question.id, "answer": body.answer})
