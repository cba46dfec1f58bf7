"""Settings: layers merged field by field, plain environment names, where each value came from, and clear complaints."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, SecretStr, field_validator, model_validator

from glados.core import App, GladosSettings, InvalidSetting, Layer, MissingSetting, Plugin, Section, Settings, hookimpl
from glados.core.testing import AppFactory

LOOSE = {"plugins": {"strict": False}}
SECRET = "sk-very-secret"


class Point(BaseModel):
    x: int
    y: int = 0


class DiceSettings(BaseModel):
    sides: int = Field(default=6, ge=2, le=100, description="Sides of each die.")
    weight: float = 1.0
    loaded: bool = False
    mode: Literal["fair", "fast"] = "fair"
    names: list[str] = []
    numbers: tuple[int, ...] | None = None
    colours: frozenset[str] = frozenset()
    aliases: Sequence[str] = ()
    table: dict[str, list[int]] = {}
    origin: Point | None = None
    label: str = ""


class DicePlugin(Plugin[DiceSettings]):
    id = "dice"


def read(environ: dict[str, str] | None = None, **file: Any) -> Section[DiceSettings]:
    layers = [Layer("settings.toml", {"dice": file})] if file else []
    return Settings(layers, environ or {}).section("dice", DiceSettings)


def complaint(environ: dict[str, str] | None = None, **file: Any) -> str:
    with pytest.raises(InvalidSetting) as caught:
        read(environ, **file).load()
    return caught.value.message


def test_layers_are_merged_field_by_field_and_every_value_says_where_it_came_from() -> None:
    layers = [
        Layer("user.toml", {"dice": {"sides": 8, "mode": "fast", "label": "user"}}),
        Layer("project.toml", {"dice": {"sides": 10, "label": "project"}}),
    ]
    settings = Settings(layers, {"DICE_SIDES": "12"}, {"dice": {"label": "program"}})
    section = settings.section("dice", DiceSettings)
    found = {setting.name: (setting.value, setting.source) for setting in section.values}
    assert found["mode"] == ("fast", "user.toml")
    assert found["sides"] == (12, "environment variable DICE_SIDES")
    assert found["label"] == ("program", "App.open(settings=…)")
    assert found["weight"] == (1.0, "default")
    assert [setting.env for setting in section.values][:2] == ["DICE_SIDES", "DICE_WEIGHT"]
    assert section.values[0].description == "Sides of each die."


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("sides", " 5 ", 5),
        ("weight", "1e3", 1000.0),
        ("loaded", "yes", True),
        ("loaded", " TRUE ", True),
        ("loaded", "0", False),
        ("mode", " fast ", "fast"),
        ("names", "a, b ,,ü", ["a", "b", "ü"]),
        ("names", '["a,b", "c"]', ["a,b", "c"]),
        ("names", " ", []),
        ("numbers", "1,2", (1, 2)),
        ("colours", "red,red", frozenset({"red"})),
        ("aliases", "x,y", ["x", "y"]),
        ("table", '{"a": [1, 2]}', {"a": [1, 2]}),
        ("origin", '{"x": 3}', Point(x=3)),
        ("label", " spaces stay ", " spaces stay "),
        ("label", "Würfel 🎲", "Würfel 🎲"),
        ("label", "1e3", "1e3"),
    ],
)
def test_a_variable_is_read_as_what_its_field_is(field: str, text: str, value: Any) -> None:
    assert getattr(read({f"DICE_{field.upper()}": text}).load(), field) == value


def test_an_empty_variable_counts_as_not_set() -> None:
    section = read({"DICE_SIDES": "", "DICE_NAMES": ""}, sides=20)
    assert section.load().sides == 20
    assert section.values[0].source == "settings.toml"


@pytest.mark.parametrize(
    ("field", "text", "allowed"),
    [
        ("sides", "many", "give a whole number from 2 to 100"),
        ("sides", "1e3", "give a whole number from 2 to 100"),
        ("sides", "6.5", "give a whole number from 2 to 100"),
        ("sides", "1", "give a whole number from 2 to 100"),
        ("sides", "٣x", "give a whole number from 2 to 100"),
        ("weight", "heavy", "give a number"),
        ("loaded", "maybe", "give true or false"),
        ("mode", "slow", "give 'fair' or 'fast'"),
    ],
)
def test_a_wrong_variable_is_told_with_its_value_and_what_is_allowed(field: str, text: str, allowed: str) -> None:
    name = f"DICE_{field.upper()}"
    assert complaint({name: text}) == f"{name} is {text!r}, which is not allowed: {allowed}."


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("DICE_NUMBERS", "1,x", "DICE_NUMBERS is ['1', 'x'], which is not allowed: in item 2, give a whole number."),
        (
            "DICE_NUMBERS",
            "[1,",
            "DICE_NUMBERS is '[1,', which is not allowed: give a list, in the environment comma-separated or as JSON.",
        ),
        (
            "DICE_TABLE",
            "a=1",
            "DICE_TABLE is 'a=1', which is not allowed: give a table, in the environment as a JSON object.",
        ),
        (
            "DICE_TABLE",
            '{"a": [1, "b"]}',
            "DICE_TABLE is {'a': [1, 'b']}, which is not allowed: in item 2 of 'a', give a whole number.",
        ),
        ("DICE_ORIGIN", '{"y": 1}', "DICE_ORIGIN is {'y': 1}, which is not allowed: in 'x', a value is required."),
    ],
)
def test_a_wrong_part_of_a_list_or_a_table_is_told_with_its_place(name: str, text: str, told: str) -> None:
    assert complaint({name: text}) == told


def test_a_huge_value_is_shortened_in_the_complaint() -> None:
    told = complaint({"DICE_SIDES": "9" * 10_000})
    assert len(told) < 250
    assert told.endswith("…, which is not allowed: give a whole number from 2 to 100.")


def test_a_wrong_value_in_a_file_is_told_with_the_file() -> None:
    told = "dice.sides in settings.toml is 'many', which is not allowed: give a whole number from 2 to 100."
    assert complaint(sides="many") == told


def test_several_wrong_values_are_all_told() -> None:
    with pytest.raises(InvalidSetting) as caught:
        read({"DICE_SIDES": "x", "DICE_LOADED": "?"}, weight="z").load()
    assert caught.value.message.count("which is not allowed") == 3
    assert caught.value.data == {"settings": ["dice.sides", "dice.weight", "dice.loaded"]}


def test_an_unknown_field_is_told_with_the_nearest_one() -> None:
    told = "dice.sidse in settings.toml is not a setting of [dice]. Did you mean 'sides'?"
    assert complaint(sidse=3) == told
    assert complaint(zzz=3).endswith("It has: " + ", ".join(DiceSettings.model_fields) + ".")


@pytest.mark.parametrize("where", ["file", "program"])
def test_a_section_that_is_no_table_is_told(where: str) -> None:
    wrong: Any = {"dice": 6}
    settings = Settings([Layer("a.toml", wrong)], {}) if where == "file" else Settings((), {}, wrong)
    source = "a.toml" if where == "file" else r"App\.open\(settings=…\)"
    with pytest.raises(
        InvalidSetting, match=rf"^dice in {source} is 6, which is not allowed: give a table \[dice\]\.$"
    ):
        settings.section("dice", DiceSettings)


async def test_a_wrong_value_stops_the_start_before_anything_is_set_up(tmp_path: Path) -> None:
    started: list[str] = []

    class Other(Plugin):
        id = "other"

        @hookimpl
        def setup(self) -> None:
            started.append("other")

    environ = {"DICE_SIDES": "x", "MODEL_MAX_TURNS": "0", "GLADOS_LOG_LEVEL": "loud", "OTHER_ENABLED": "perhaps"}
    overrides = {"glados": {"data_dir": tmp_path / "data"}}
    with pytest.raises(InvalidSetting) as caught:
        async with App.open(plugins=[Other, DicePlugin], settings=overrides, environ=environ):
            pass
    for name, value in environ.items():
        assert f"{name} is {value!r}, which is not allowed: " in caught.value.message
    assert "GLADOS_LOG_LEVEL is 'loud', which is not allowed: give 'debug', 'info', 'warning' or 'error'." in str(
        caught.value
    )
    assert not started
    assert not (tmp_path / "data").exists()


class KeySettings(BaseModel):
    key: SecretStr = Field(description="The key of the service.")
    headers: dict[str, SecretStr] = {}
    retries: int = 1

    @field_validator("key", mode="before")
    @classmethod
    def _looks_like_a_key(cls, value: Any) -> Any:
        if "bad" in str(value):
            raise ValueError(f"{value} is no key")
        return value


class KeyPlugin(Plugin[KeySettings]):
    id = "key"


async def test_a_required_value_that_nobody_gave_fails_that_plugin_alone(glados_app: AppFactory) -> None:
    app = await glados_app(plugins=[KeyPlugin, DicePlugin], settings=LOOSE)
    assert [(record.id, record.state) for record in app.plugins] == [("key", "failed"), ("dice", "enabled")]
    assert app.plugins[0].reason == (
        "key.key is required (The key of the service): set KEY_KEY, or key in section [key]."
    )


def test_a_required_value_that_nobody_gave_is_a_missing_setting() -> None:
    with pytest.raises(MissingSetting):
        Settings(environ={}).section("key", KeySettings).load()


@pytest.mark.parametrize(
    "environ",
    [
        {"KEY_KEY": SECRET},
        {"KEY_KEY": f"bad {SECRET}"},
        {"KEY_KEY": SECRET, "KEY_RETRIES": "x"},
        {"KEY_KEY": SECRET, "KEY_HEADERS": f'{{"a": "{SECRET}"}}'},
        {"KEY_KEY": SECRET, "KEY_HEADERS": f'["{SECRET}"]'},
        {"KEY_KEY": SECRET, "KEY_HEADERS": f'{{"a": ["{SECRET}"]}}'},
    ],
)
def test_a_secret_is_never_shown(environ: dict[str, str]) -> None:
    section = Settings(environ=environ).section("key", KeySettings)
    shown = [str(setting.shown()) for setting in section.values]
    told = [str(setting.error) for setting in section.errors]
    assert SECRET not in " ".join((*shown, *told, repr(section), str(section)))
    assert section.values[0].shown() == "**********"


class RangeSettings(BaseModel):
    low: int = 0
    high: int = 9
    token: SecretStr | None = None

    @model_validator(mode="after")
    def _ordered(self) -> RangeSettings:
        if self.low > self.high:
            raise ValueError("low has to be below high.")
        return self


def test_values_that_do_not_go_together_are_told_together() -> None:
    section = Settings([Layer("a.toml", {"range": {"low": 20}})], {"RANGE_TOKEN": SECRET}).section(
        "range", RangeSettings
    )
    told = (
        "[range] with low = 20 (a.toml), token = ********** (environment variable RANGE_TOKEN) is not allowed:"
        " low has to be below high."
    )
    with pytest.raises(InvalidSetting) as caught:
        section.load()
    assert caught.value.message == told
    assert [setting.name for setting in section.errors] == ["low", "token"]


def test_a_model_that_needs_one_of_several_says_what_can_be_set() -> None:
    class Source(BaseModel):
        url: str | None = None
        path: str | None = None

        @model_validator(mode="after")
        def _one(self) -> Source:
            if not (self.url or self.path):
                raise ValueError("a url or a path is needed")
            return self

    with pytest.raises(MissingSetting, match=r"^\[source\] needs settings: a url or a path is needed\. Set SOURCE_URL"):
        Settings(environ={}).section("source", Source).load()


def test_a_wrong_default_is_told_as_what_it_is() -> None:
    class Wrong(BaseModel):
        size: int = Field(default=0, gt=0, validate_default=True)

    with pytest.raises(MissingSetting, match=r"^The default of wrong\.size is 0, .*: give a whole number above 0\.$"):
        Settings(environ={}).section("wrong", Wrong).load()


def test_a_field_with_an_alias_is_set_by_its_name() -> None:
    class Aliased(BaseModel):
        size: int = Field(default=1, alias="theSize")

    assert Settings(environ={"ALIASED_SIZE": "5"}).section("aliased", Aliased).load().size == 5


@pytest.mark.parametrize("body", ["raise KeyError('x')", "raise SystemExit(1)", "import time; time.sleep(3600)"])
async def test_a_validator_that_breaks_fails_its_plugin_alone(site: Any, body: str) -> None:
    model = f"class S(BaseModel):\n    def model_post_init(self, context):\n        {body}\n"
    site.plugin("bad", before=model, base="Plugin[S]")
    site.good()
    async with site.open(PLUGINS_TIMEOUT="0.3") as app:
        record = next(record for record in app.plugins if record.id == "bad")
        assert record.state == "failed"
        assert str(record.reason).startswith("Reading the settings of plugin 'bad'")
        assert await app.call("good.ping", {}) == {"result": "pong"}


async def test_third_party_settings_come_from_the_environment_with_no_code(site: Any) -> None:
    model = "class S(BaseModel):\n    max_size: int = 1\n    hosts: list[str] = []\n"
    site.plugin(
        "my-thing",
        "@hookimpl\ndef setup(self, services):\n    services.add(S, self.settings)\nS = S\n",
        before=model,
        base="Plugin[S]",
    )
    async with site.open(MY_THING_MAX_SIZE="7", MY_THING_HOSTS="a,b") as app:
        (settings,) = app.services.all(sys.modules["glados_my_thing"].S)
        assert (settings.max_size, settings.hosts) == (7, ["a", "b"])


@pytest.mark.parametrize(
    ("layers", "environ", "enabled", "source"),
    [
        ([], {}, True, "default"),
        ([Layer("a.toml", {"dice": {"enabled": False}})], {}, False, "a.toml"),
        (
            [Layer("a.toml", {"dice": {"enabled": False}})],
            {"DICE_ENABLED": "on"},
            True,
            "environment variable DICE_ENABLED",
        ),
        ([], {"DICE_ENABLED": "off"}, False, "environment variable DICE_ENABLED"),
    ],
)
def test_every_section_has_a_switch(layers: Any, environ: Any, enabled: bool, source: str) -> None:
    settings = Settings(layers, environ)
    assert settings.enabled("dice") == (enabled, source)
    assert settings.section("dice", DiceSettings).load() == DiceSettings()


def test_a_switch_that_is_wrong_is_told() -> None:
    with pytest.raises(InvalidSetting, match=r"^DICE_ENABLED is 'maybe', which is not allowed: give true or false\.$"):
        Settings(environ={"DICE_ENABLED": "maybe"}).enabled("dice")


def test_values_are_shown_as_json_would_show_them() -> None:
    section = read({"DICE_COLOURS": "red", "DICE_ORIGIN": '{"x": 1}', "DICE_TABLE": '{"a": [1]}'})
    shown = {setting.name: setting.shown() for setting in section.values}
    assert shown["colours"] == ["red"]
    assert shown["origin"] == {"x": 1, "y": 0}
    assert shown["table"] == {"a": [1]}
    assert shown["numbers"] is None


def test_the_data_directory_is_absolute_and_by_default_the_platforms(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/somebody")
    for text, expected in {".": tmp_path, "data": tmp_path / "data", "~/x": Path("/home/somebody/x")}.items():
        settings = Settings(environ={"GLADOS_DATA_DIR": text})
        assert settings.section("glados", GladosSettings).load().data_dir == expected
    default = Settings(environ={}).section("glados", GladosSettings).load().data_dir
    assert default.is_absolute()
    assert default.name == "glados"


def test_the_users_own_instructions_are_a_file_that_a_variable_can_name(tmp_path: Path) -> None:
    default = Settings(environ={}).section("glados", GladosSettings).load().instructions
    named = Settings(environ={"GLADOS_INSTRUCTIONS": str(tmp_path / "me.md")}).section("glados", GladosSettings).load()

    assert (default.name, default.is_absolute()) == ("AGENTS.md", True)
    assert named.instructions == tmp_path / "me.md"
