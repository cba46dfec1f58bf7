"""Requests for the responses API: stateless, the whole input each time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from glados.core.messages import ImagePart, Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from glados.core.models.encoded import EncodedRequest, arguments_of, encode
from glados.core.models.tool_names import wire_name
from glados.core.tools import Tool


class ResponsesRequest(EncodedRequest):
    """A request in the form of the responses API."""

    __slots__ = ("_encoded_system", "_encoded_tools")

    def __init__(self, tools: Sequence[Tool], service: str | None) -> None:
        super().__init__(tools, service)
        self._encoded_tools = encode([self._tool(tool) for tool in tools]) if tools else b""
        self._encoded_system = b""

    def body(self, options: dict[str, Any]) -> bytes:
        """The options, the instructions, the tools and the input."""
        system = (b',"instructions":', self._encoded_system) if self._encoded_system else ()
        tools = (b',"tools":', self._encoded_tools) if self._encoded_tools else ()
        return b"".join((encode(options)[:-1], *system, *tools, b',"input":[', b",".join(self.history), b"]}"))

    def set_system(self, text: str) -> None:
        """The system prompt is the instructions."""
        self._encoded_system = encode(text) if text else b""

    def items(self, message: Message) -> Iterator[dict[str, Any]]:
        """Every part of an answer and every result of a tool is an item of its own, in their order."""
        if message.role == "user":
            yield {"role": "user", "content": _content(message)}
            return
        thoughts: list[dict[str, Any]] = []
        for part in message.parts:
            if isinstance(part, ThinkingPart):
                data = self.thought(part)
                thoughts += [data["item"]] if data else []
            elif item := _item(part):
                # The API refuses a thought that nothing follows, as an answer that was cut can leave one.
                yield from thoughts
                thoughts.clear()
                yield item

    def _tool(self, tool: Tool) -> dict[str, Any]:
        # Without `strict: false` the API wants schemas in which every field is required.
        return {
            "type": "function",
            "name": wire_name(tool.id),
            "description": self.names.rewrite(tool.description),
            "parameters": tool.input_schema,
            "strict": False,
        }


def _item(part: object) -> dict[str, Any] | None:
    if isinstance(part, TextPart) and part.text:
        return {"role": "assistant", "content": part.text}
    if isinstance(part, ToolCallPart):
        name, arguments = wire_name(part.tool_id), arguments_of(part)
        return {"type": "function_call", "call_id": part.id, "name": name, "arguments": arguments}
    if isinstance(part, ToolResultPart):
        images = [_image(image) for image in part.images]
        output = [{"type": "input_text", "text": part.text}, *images] if images else part.text
        return {"type": "function_call_output", "call_id": part.call_id, "output": output}
    return None


def _content(message: Message) -> str | list[dict[str, Any]]:
    if not any(isinstance(part, ImagePart) for part in message.parts):
        return message.text
    return [content for part in message.parts if (content := _content_part(part))]


def _content_part(part: object) -> dict[str, Any] | None:
    if isinstance(part, ImagePart):
        return _image(part)
    return {"type": "input_text", "text": part.text} if isinstance(part, TextPart) and part.text else None


def _image(image: ImagePart) -> dict[str, Any]:
    return {"type": "input_image", "image_url": image.address, "detail": "auto"}
