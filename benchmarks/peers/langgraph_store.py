"""langgraph: a graph of a model and its tools with the SQLite checkpointer, which keeps the state after each step."""

# pyright: reportMissingImports=false

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph

from benchmarks.store import work


async def size(folder: Path, rounds: int) -> int:
    """Bytes of the database after one run of so many rounds."""

    def model(state: MessagesState) -> dict[str, Any]:
        number = sum(isinstance(message, AIMessage) for message in state["messages"])
        if number == rounds:
            return {"messages": [AIMessage("done")]}
        calls = [
            {"name": "look", "args": {"url": "http://bench.test/page", "limit": 10}, "id": f"call_{number}_{call}"}
            for call in range(work.CALLS)
        ]
        return {"messages": [AIMessage("I look.", tool_calls=calls)]}

    def tools(state: MessagesState) -> dict[str, Any]:
        return {"messages": [ToolMessage(work.RESULT, tool_call_id=call["id"]) for call in calls_of(state)]}

    def calls_of(state: MessagesState) -> list[Any]:
        last = state["messages"][-1]
        return last.tool_calls if isinstance(last, AIMessage) else []

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", tools)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", lambda state: "tools" if calls_of(state) else END)
    graph.add_edge("tools", "model")
    with SqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver:
        options: Any = {"configurable": {"thread_id": "1"}, "recursion_limit": 10 * rounds}
        graph.compile(checkpointer=saver).invoke({"messages": [HumanMessage(work.TEXT)]}, options)
    return sum(path.stat().st_size for path in folder.iterdir())
