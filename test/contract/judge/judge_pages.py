"""Pages as AWS cuts them: moto often ignores the size that a client asks for, and never cuts by itself.

With the setting `pages` (POST /_judge/set {"key": "pages", "value": N}) an answer with a list holds
at most N items, whatever was asked; without it at most as many as the request's own limit allows.
"""

import json
import uuid
import botocore.session
from botocore.exceptions import UnknownServiceError
from botocore.parsers import create_parser
from judge_state import AwsError, serialise_output


class Pages:
    def __init__(self):
        self.loader = botocore.session.get_session().get_component("data_loader")
        self.facts, self.rest, self.cut = {}, {}, {}

    def of(self, service, operation):
        """botocore's facts of a paginated operation with one token, or None."""
        if service not in self.facts:
            try:
                loaded = self.loader.load_service_model(service, "paginators-1")["pagination"]
            except UnknownServiceError:
                loaded = {}
            self.facts[service] = loaded
        facts = self.facts[service].get(operation)
        return facts if facts and isinstance(facts["input_token"], str) else None

    def answer(self, service, op, protocol, params, size, ask):
        """One page of what ask() answers (status, headers, body)."""
        facts = self.of(service, op.name)
        if not facts:
            return ask()
        own = (facts["input_token"], facts.get("limit_key"))
        asked = {k: v for k, v in params.items() if k not in own}
        same = json.dumps([service, op.name, asked], default=str, sort_keys=True)
        token = params.get(facts["input_token"])
        if token in self.rest:
            before, value, items = self.rest[token]
            if before != same:
                raise AwsError("InvalidParameterValue", "The token was made for another request")
        else:
            status, headers, body = whole = ask()
            if status >= 300:
                return whole
            answer = {"status_code": status, "headers": dict(headers), "body": body}
            value = create_parser(protocol).parse(answer, op.output_shape)
            value.pop("ResponseMetadata", None)
            items = value.get(self.key(facts)) or []
            if value.get(facts["output_token"]) or len(items) <= self.limit(facts, params, size):
                return whole  # cut already, or short enough
        return self.page(facts, op, protocol, same, value, items, self.limit(facts, params, size))

    def page(self, facts, op, protocol, same, value, items, limit):
        page = {**value, self.key(facts): items[:limit]}
        page.pop(facts["output_token"], None)
        if facts.get("more_results"):
            page[facts["more_results"]] = len(items) > limit
        if len(items) > limit:
            token = page[facts["output_token"]] = uuid.uuid4().hex
            self.rest[token] = same, value, items[limit:]
        self.cut[f"{op.service_model.service_name}:{op.name}"] = True
        return serialise_output(op, protocol, page)

    @staticmethod
    def key(facts):
        key = facts["result_key"]
        return key[0] if isinstance(key, list) else key

    @staticmethod
    def limit(facts, params, size):
        limits = [n for n in (size, params.get(facts.get("limit_key"))) if n]
        return int(min(map(int, limits))) if limits else 10**9
