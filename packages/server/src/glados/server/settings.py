"""The server's own section, and the files that are read as layers of settings."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, Field, SecretStr

from glados.core import ConfigurationError, Layer

CONFIG_VARIABLE = "GLADOS_CONFIG"


class ServerSettings(BaseModel):
    """Where the daemon listens and what it takes in."""

    host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="The address to listen on; one that others can reach needs a token of your own.",
    )
    port: int = Field(default=8420, ge=0, le=65535, description="The port to listen on; 0 takes any free one.")
    token: SecretStr | None = Field(
        default=None,
        description="The bearer token that every request needs; by default a random one, kept in the data directory.",
    )
    max_body_bytes: int = Field(default=1_000_000, gt=0, description="The largest request body that is read, in bytes.")
    allowed_hosts: list[str] = Field(
        default=[], description="Names besides the address itself that a request's Host header may carry."
    )
    allowed_origins: list[str] = Field(
        default=[], description="Origins of web pages besides the server's own that may send requests."
    )


def user_file() -> Path:
    """The user's settings file, in the platform's config directory; it need not exist."""
    from platformdirs import user_config_path

    return user_config_path("glados") / "settings.toml"


def file_layers(config: Path | None = None, environ: Mapping[str, str] | None = None) -> list[Layer]:
    """The user's file, if there is one, then the file named by `config` or GLADOS_CONFIG, which must be there.

    Nothing is read from the working directory by itself: a checkout of somebody else's must not configure the agent.
    """
    name = config or (os.environ if environ is None else environ).get(CONFIG_VARIABLE)
    own = user_file()
    files = [own] if own.exists() else []
    if name:
        named = Path(name).expanduser()
        if not named.exists():
            told = "--config" if config else CONFIG_VARIABLE
            raise ConfigurationError(
                f"The settings file {str(named)!r}, named by {told}, does not exist: create it or name another one.",
                file=str(named),
            )
        files.append(named)
    return [read_layer(path) for path in files]


def read_layer(path: Path) -> Layer:
    """One settings file as a layer: section and field names in lower case, values as the file has them."""
    tables = _parse(path)
    names = {table: _normal(table) for table in tables}
    _refuse_twins(path, "section", names)
    stored = _through_dynaconf({names[table]: fields for table, fields in tables.items()})
    values: dict[str, dict[str, Any]] = {}
    for section, fields in stored.items():
        _refuse_twins(path, f"setting of [{section}]", {field: _normal(field) for field in fields})
        values[section] = {_normal(field): value for field, value in fields.items()}
    return Layer(str(path), values)


def _parse(path: Path) -> dict[str, dict[str, Any]]:
    """The tables of a TOML file."""
    try:
        parsed = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigurationError(
            f"The settings file {str(path)!r} cannot be read: {error.strerror or error}.", file=str(path)
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"The settings file {str(path)!r} is not UTF-8 (byte {error.start}): save it as UTF-8.", file=str(path)
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise _bad_toml(path, str(error)) from error
    for name, value in parsed.items():
        if not isinstance(value, dict):
            raise ConfigurationError(
                f"{path}: {name!r} stands outside of any section: put it below the header of its section,"
                " such as [server].",
                file=str(path),
                key=name,
            )
    return cast("dict[str, dict[str, Any]]", parsed)


def _bad_toml(path: Path, message: str) -> ConfigurationError:
    found = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    what = message[: found.start()] if found else message
    line = int(found[1]) if found and found[1] else None
    where = f"line {line}" if line else "the last line"
    return ConfigurationError(f"{path}, {where}: {what}. Correct the TOML there.", file=str(path), line=line)


def _normal(name: str) -> str:
    """`WEB_FETCH`, `web-fetch` and `web_fetch` are one section to whoever writes the file."""
    return name.lower().replace("-", "_")


def _refuse_twins(path: Path, what: str, names: Mapping[str, str]) -> None:
    """Two spellings of one name in a file would hide each other."""
    first: dict[str, str] = {}
    for written, normal in names.items():
        if normal in first:
            raise ConfigurationError(
                f"{path}: {first[normal]!r} and {written!r} are the same {what}: keep one of them.", file=str(path)
            )
        first[normal] = written


def _through_dynaconf(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Hold one file's tables in a Dynaconf of their own and give them back.

    The file is handed over parsed: given its path, Dynaconf would also load `settings.local.toml` and run
    `dynaconf_hooks.py` beside it. Casting is off, so that "@format …", "@jinja …" and "@read_file …" stay text.
    """
    from dynaconf import Dynaconf  # pyright: ignore[reportMissingTypeStubs]

    settings: Any = Dynaconf(settings_files=[], core_loaders=[], loaders=[], environments=False, load_dotenv=False)
    settings.set("AUTO_CAST_FOR_DYNACONF", False)  # afterwards, because the environment wins over the constructor
    # Below a name of our own, so that no section meets one of Dynaconf's settings.
    settings.set("SECTIONS", {name: dict(fields) for name, fields in tables.items()})
    return settings.to_dict()["SECTIONS"]
