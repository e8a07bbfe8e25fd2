"""
Blocks that hold components by id: `type` or `type/name`, as in the Collector.
"""

import re
from collections.abc import Mapping

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails, InitErrorDetails, PydanticCustomError, core_schema

from service.config.values import Block

_ID = re.compile(r"[^\s/]+(/[^\s/][^/\n]{0,1022})?")


def component_type(component_id: str) -> str:
    return component_id.partition("/")[0]


def type_pattern(name: str) -> str:
    """
    A regular expression for the ids of one type.
    """
    return f"^{name}(/[^/]+)?$"


class Components:
    """
    Annotates a mapping from component id to block: the type in the id says which model the block has.

    `aliases` are other names of the same types; ids stay as written.
    """

    def __init__(self, models: Mapping[str, type[Block]], aliases: Mapping[str, str] | None = None) -> None:
        self._models = {**models, **{alias: models[name] for alias, name in (aliases or {}).items()}}

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        one_of_each = core_schema.typed_dict_schema(
            {
                name: core_schema.typed_dict_field(core_schema.nullable_schema(handler.generate_schema(model)))
                for name, model in self._models.items()
            }
        )
        return core_schema.no_info_before_validator_function(
            self._validate, core_schema.dict_schema(), json_schema_input_schema=one_of_each
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        one_of_each = handler.resolve_ref_schema(handler(schema))
        return {
            "type": ["object", "null"],
            "patternProperties": {
                type_pattern(name): block for name, block in one_of_each.get("properties", {}).items()
            },
            "additionalProperties": False,
        }

    def _validate(self, value: object) -> dict[str, Block]:
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise PydanticCustomError("components", "should map component ids to their blocks")
        blocks: dict[str, Block] = {}
        errors: list[InitErrorDetails] = []
        for component_id, block in value.items():
            try:
                blocks[component_id] = self._block(component_id, block)
            except PydanticCustomError as error:
                errors.append(InitErrorDetails(type=error, loc=(component_id,), input=None))
            except ValidationError as error:
                errors += [_below(component_id, details) for details in error.errors(include_url=False)]
        if errors:
            raise ValidationError.from_exception_data("components", errors)
        return blocks

    def _block(self, component_id: str, block: object) -> Block:
        if not _ID.fullmatch(component_id):
            raise PydanticCustomError("component_id", "a component id is type or type/name")
        model = self._models.get(component_type(component_id))
        if model is None:
            known = ", ".join(self._models)
            raise PydanticCustomError("component_type", "unknown type; known are {known}", {"known": known})
        return model.model_validate({} if block is None else block)


def _below(component_id: str, details: ErrorDetails) -> InitErrorDetails:
    """
    The same mistake, seen from one level up. The input is left out: it may be a secret.
    """
    problem = PydanticCustomError(details["type"], "{problem}", {"problem": details["msg"]})
    return InitErrorDetails(type=problem, loc=(component_id, *details["loc"]), input=None)
