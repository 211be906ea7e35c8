"""The rules about what is published (FTC693 to FTC698)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator
from typing import Final

from ftc.compiler.checks.model.model import is_non_commercial
from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.plan.publishing import has_adapter
from ftc.spec.sections import Publish

_WITH_WEIGHTS: Final = frozenset({"merged", "gguf", "vllm"})


@rule("FTC693", "publish-without-licence", "error")
def publish_without_licence(case: Case) -> Iterator[Problem]:
    """What it is: The result is published and has no licence.

    Why it matters: Without a licence nobody may use it. `publish.py` uploads nothing without one.
    The licence of the base and those of the data may say which licences are possible.

    Example: {"publish": "acme/support-triage"}

    Use instead: {"publish": {"repo": "acme/support-triage", "licence": "apache-2.0"}}
    """
    if case.spec.publish.repo is not None and case.spec.publish.licence is None:
        yield problem("/publish/licence")


@rule("FTC694", "publish-what-is-not-made", "error")
def publish_what_is_not_made(case: Case) -> Iterator[Problem]:
    """What it is: `publish.what` names files that this spec does not make.

    Why it matters: There are no GGUF files without types in `export`, no folders for vLLM without
    types in `export.vllm`, and no adapter without the method lora or qlora, so `publish.py` would
    upload less than was asked for.

    Example: {"export": [], "publish": {"repo": "acme/triage", "what": ["gguf"]}}

    Use instead: {"export": ["Q4_K_M"], "publish": {"repo": "acme/triage", "what": ["gguf"]}}
    """
    spec, what = case.spec, case.spec.publish.what
    if spec.publish.repo is None or what == "auto":
        return
    for index, name in enumerate(what):
        made = {
            "gguf": spec.export.types,
            "vllm": spec.export.vllm,
            "adapter": has_adapter(spec.method),
        }
        is_made = bool(made.get(name, True))
        if not is_made:
            yield problem(f"/publish/what/{index}", message=name, help=name)


@rule("FTC695", "publish-weights-of-restricted-base", "warning", reads=("model",))
def publish_weights_of_restricted_base(case: Case) -> Iterator[Problem]:
    """What it is: The terms of the base may forbid what is published.

    Why it matters: A fine-tuned model is derived from its base. A licence that excludes commercial
    use also holds for the result, which then needs a licence that says so. The weights of a gated
    model are for those who accepted its terms; merged weights and GGUF files in a public
    repository give them to everyone.

    Example: {"model": "meta-llama/Llama-3.1-8B", "publish": {"repo": "acme/triage",
    "licence": "mit", "what": ["merged"], "private": false}}

    Use instead: {"model": "meta-llama/Llama-3.1-8B", "publish": {"repo": "acme/triage",
    "licence": "llama3.1", "what": ["adapter"]}}
    """
    publish, model = case.spec.publish, case.model
    if publish.repo is None:
        return
    if model.licence is not None and publish.licence is not None:
        own = publish.licence
        if is_non_commercial(model.licence) and not is_non_commercial(own):
            yield problem(
                "/publish/licence",
                message="non_commercial",
                help="non_commercial",
                name=model.id,
                licence=model.licence,
                own=own,
            )
    names = _WITH_WEIGHTS if publish.what == "auto" else _WITH_WEIGHTS & set(publish.what)
    is_open = bool(names) and not publish.private
    if model.gated and is_open and (publish.what != "auto" or _publishes_weights(case)):
        fix = (put("/publish/private", value=True),)
        yield problem("/publish/private", message="gated", help="gated", fix=fix, name=model.id)


def _publishes_weights(case: Case) -> bool:
    """Return whether whole weights are uploaded where the spec leaves the choice to ftc."""
    export = case.spec.export
    return bool(export.types or export.vllm) or not has_adapter(case.spec.method)


@rule("FTC696", "publish-to-malformed-name", "error")
def publish_to_malformed_name(case: Case) -> Iterator[Problem]:
    """What it is: The name of the repository ends in `.git`.

    Why it matters: The Hub accepts no such name, because its addresses for git end with it.

    Example: {"publish": {"repo": "acme/triage.git", "licence": "mit"}}

    Use instead: {"publish": {"repo": "acme/triage", "licence": "mit"}}
    """
    repo = case.spec.publish.repo
    if repo is not None and repo.endswith(".git"):
        name = repo.removesuffix(".git")
        yield problem("/publish/repo", fix=(put("/publish/repo", name),), repo=repo, name=name)


@rule("FTC697", "publish-adapter-of-local-base", "warning", reads=("model",))
def publish_adapter_of_local_base(case: Case) -> Iterator[Problem]:
    """What it is: An adapter is published whose base is a folder of this machine.

    Why it matters: An adapter runs only on its base. `adapter_config.json` names the folder, which
    others do not have.

    Example: {"model": "./base", "publish": {"repo": "acme/triage", "licence": "mit",
    "what": ["adapter"]}}

    Use instead: {"model": "./base", "publish": {"repo": "acme/triage", "licence": "mit",
    "what": ["merged"]}}
    """
    publish = case.spec.publish
    if publish.repo is None or publish.what == "auto" or case.model.origin != "folder":
        return
    if "adapter" in publish.what and has_adapter(case.spec.method):
        yield problem(f"/publish/what/{publish.what.index('adapter')}", name=case.model.id)


@rule("FTC698", "publish-without-repository", "error")
def publish_without_repository(case: Case) -> Iterator[Problem]:
    """What it is: `publish` has settings and names no repository.

    Why it matters: Without a repository nothing is published, and nothing reads these settings.

    Example: {"publish": {"licence": "apache-2.0"}}

    Use instead: {"publish": {"repo": "acme/support-triage", "licence": "apache-2.0"}}
    """
    if case.spec.publish.repo is None and case.spec.publish != Publish():
        yield problem("/publish/repo")
