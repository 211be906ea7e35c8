"""The conditions of a bundle's parts that combine several facts or decisions, each declared once.

Templates and the tables of this folder read a single field of the spec, a fact or a decision
directly, and everything else as a property of `Uses`.
"""

from dataclasses import dataclass
from typing import Final

from ftc.compiler.knowledge.exports.gguf_types import wants_matrix
from ftc.compiler.knowledge.multimodal.wrappers import wrapper_named
from ftc.compiler.knowledge.objectives import OBJECTIVES, Objective, compares_texts
from ftc.compiler.plan.objective.comparison import COMPARING, PAIRING
from ftc.compiler.plan.objective.sampling import calls_tools, find_rewards, sampling_reference
from ftc.compiler.plan.plan import Decisions
from ftc.compiler.plan.search.padding import sorts_rows
from ftc.compiler.plan.splits import is_weighed
from ftc.compiler.render.method import is_plain, keeps_tower
from ftc.compiler.render.source import BundleSource, sees
from ftc.compiler.resolve.facts import DataFacts, KnownFacts
from ftc.compiler.resolve.model.chain import RESULT
from ftc.spec.sections import FileFormat, Form, Reward, Spec
from ftc.spec.sources import list_sources

#: The attention that accepts concatenated rows of any length; others need a padded batch.
_VARIABLE_LENGTHS: Final = "flash_attention_2"


@dataclass(frozen=True, slots=True)
class Uses:
    """A view of what a bundle is made from, with a property per condition on several facts."""

    source: BundleSource

    @property
    def spec(self) -> Spec:
        """The spec of the bundle."""
        return self.source.spec

    @property
    def facts(self) -> KnownFacts:
        """The facts of the bundle."""
        return self.source.facts

    @property
    def decisions(self) -> Decisions:
        """The decisions of the plan."""
        return self.source.plan.decisions

    @property
    def objective(self) -> Objective:
        """The entry of the objective in the table of objectives."""
        return OBJECTIVES[self.spec.objective.type]

    # the model

    @property
    def int8(self) -> bool:
        """The frozen base is loaded in 8 bits."""
        return self.spec.method.type == "qlora" and self.spec.method.quantization == "int8"

    @property
    def split_init(self) -> bool:
        """The adapter starts as a part of the base's weights, which the base then lacks."""
        init = self.decisions.method.lora_init
        return init is not None and init.value != "gaussian"

    @property
    def also_train(self) -> bool:
        """Whole modules are trained beside the adapter."""
        return self.decisions.method.also_train is not None and self.spec.method.type != "freeze"

    @property
    def options(self) -> bool:
        """Loading the model takes options: a revision of the Hub, or the model's own code."""
        return self.source.model_path is None or self.spec.model.trust_remote_code

    @property
    def chained(self) -> bool:
        """The model is another bundle's result, and rows are held out to evaluate it."""
        path, decided = self.source.model_path, self.decisions
        held_rows = decided.splits.validation_rows.value + decided.splits.test_rows.value
        return path is not None and path.endswith(RESULT) and held_rows > 0

    @property
    def gated(self) -> bool:
        """The model or the teacher is on the Hub, behind terms that a user must accept."""
        teacher = self.facts.teacher
        models = (self.facts.model, *(() if teacher is None else (teacher.model,)))
        return any(bool(model.gated) and model.path is None for model in models)

    @property
    def template_options(self) -> bool:
        """The chat template is rendered with options of the spec."""
        return bool(self.spec.data.template_options) and self.template

    @property
    def plain_model(self) -> bool:
        """Transformers loads every tensor of the model and saves it under its name."""
        return is_plain(self.facts.model)

    @property
    def wrapped(self) -> bool:
        """The language model is loaded inside a class for images and text."""
        wrapper = wrapper_named(self.facts.model.wrapper)
        return wrapper is not None and wrapper.loads == "image-text"

    @property
    def frozen_tower(self) -> bool:
        """A full fine-tune trains the language model, and not the tower beside it."""
        return self.spec.method.type == "full" and keeps_tower(self.source)

    @property
    def vision(self) -> bool:
        """The model is trained on images."""
        return sees(self.source)

    @property
    def trains_tower(self) -> bool:
        """Parts of the model that see are trained."""
        return self.vision and len(self.spec.method.parts) > 1

    @property
    def fetches_images(self) -> bool:
        """Images of rows may be downloaded."""
        return self.vision and self.spec.data.allow_download

    @property
    def timm(self) -> bool:
        """The tower of the model's class comes from the package timm."""
        wrapper = wrapper_named(self.facts.model.wrapper)
        return wrapper is not None and wrapper.timm

    # the data

    @property
    def parts(self) -> tuple[DataFacts, ...]:
        """The facts of each source of a mixture, or of the only one."""
        return self.facts.data.sources or (self.facts.data,)

    @property
    def forms(self) -> frozenset[Form]:
        """The forms of rows in all sources."""
        return frozenset(part.form for part in self.parts)

    @property
    def formats(self) -> frozenset[FileFormat]:
        """The formats of the files of all sources."""
        return frozenset(part.format for part in self.parts)

    @property
    def hub_data(self) -> bool:
        """A source of the data is on the Hub."""
        return None in (self.source.data_paths or (self.source.data_path,))

    @property
    def file_data(self) -> bool:
        """A source of the data is a local file, which may change after the plan."""
        paths = self.source.data_paths or (self.source.data_path,)
        return any(path is not None for path in paths)

    @property
    def downloads(self) -> bool:
        """Files of the Hub are downloaded whole."""
        return any(part.origin == "hub" for part in self.parts if part.streamed_rows is None)

    @property
    def streamed(self) -> bool:
        """Rows of a source are read over the network while it is prepared."""
        return any(part.streamed_rows is not None for part in self.parts)

    @property
    def weighed(self) -> bool:
        """Sources of a mixture have weights."""
        return bool(self.facts.data.sources) and is_weighed(self.spec)

    @property
    def source_limits(self) -> bool:
        """A source has a limit of rows."""
        return any(one.max_rows is not None for one in list_sources(self.spec.data))

    @property
    def planned_files(self) -> bool:
        """Rows are compared with the plan: of local files, which may change.

        Streamed data and files of the Hub are pinned to the planned commit. `--data` can replace a
        single data set of files.
        """
        data = self.facts.data
        return self.file_data or (not data.sources and data.streamed_rows is None)

    @property
    def exact_lengths(self) -> bool:
        """The lengths of rows are compared with the plan, which counted them exactly."""
        data = self.facts.data
        return self.planned_files and not data.sources and not data.lengths.estimate

    @property
    def texts(self) -> bool:
        """Texts are compared, by an embedding model or a reranker."""
        return compares_texts(self.spec.objective.type)

    @property
    def pairs(self) -> bool:
        """A row has a better and a worse answer."""
        return self.facts.data.form == "preference" and not self.texts

    @property
    def compared(self) -> bool:
        """Answers are judged in the rows: as pairs, or one by one."""
        return self.facts.data.form in ("preference", "feedback") and not self.texts

    @property
    def system(self) -> bool:
        """Each conversation gets the system message of the spec."""
        read = self.facts.data.form != "text" and self.spec.objective.type != "classification"
        return self.spec.data.system is not None and read

    @property
    def template(self) -> bool:
        """Rows are rendered with a chat template.

        All forms except plain text are, if the tokenizer has a template. A tokenizer whose files
        could not be read is assumed to have one, because conversations need it. A classification
        uses only the text, as transformers' pipeline does, and so do vectors and rerankers.
        """
        tokenizer, form = self.facts.tokenizer, self.facts.data.form
        if form == "text" or self.objective.plain:
            return False
        if self.source.chat_template is not None or tokenizer.template_sha256 is not None:
            return True
        return form == "chat" or not tokenizer.exact

    @property
    def conversations(self) -> bool:
        """Each row is one conversation with answers to learn."""
        return self.template and not self.compared and self.facts.data.form != "prompt"

    @property
    def plain_answers(self) -> bool:
        """Each row is a prompt and its answer, without a chat template."""
        unlabelled = self.compared or self.objective.plain
        return not (self.template or unlabelled or self.facts.data.form in ("prompt", "text"))

    @property
    def closes(self) -> bool:
        """The chat template does not end an answer with the end token, so that ftc adds it."""
        open_ended = self.facts.tokenizer.closes_answer is False
        return self.template and open_ended and self.facts.data.form != "prompt"

    @property
    def adds_end(self) -> bool:
        """Answers end with a token that the chat template does not write."""
        return self.facts.tokenizer.closes_answer is False or not self.template

    @property
    def callable_tools(self) -> bool:
        """The model may call tools while it is trained."""
        return calls_tools(self.spec.objective)

    @property
    def truncate(self) -> bool:
        """Rows that are too long are cut."""
        return self.spec.data.cleaning.overlong == "truncate" and not self.objective.splits

    @property
    def cut(self) -> bool:
        """Rows that are too long are cut or split."""
        return self.spec.data.cleaning.overlong == "truncate" or self.objective.splits

    @property
    def stratify(self) -> bool:
        """The splits have each answer in the same proportion."""
        form = self.facts.data.form
        return self.decisions.splits.stratify.value and form not in ("text", "preference", "prompt")

    @property
    def keep_answers(self) -> bool:
        """Records keep the text of the answer."""
        labelled = self.spec.objective.type == "classification"
        return self.stratify or labelled or self.decisions.evaluation.metric.value == "accuracy"

    # preferences, rewards and teachers

    @property
    def read_in_part(self) -> bool:
        """Training ends within its first epoch, so that a reference reads only some rows."""
        decided, max_steps = self.decisions, self.spec.training.max_steps
        return (
            decided.comparison.reference is not None
            and decided.comparison.reference.value == "precomputed"
            and max_steps is not None
            and max_steps * decided.batch.global_batch.value < decided.splits.train_rows.value
        )

    @property
    def rewards(self) -> bool:
        """A preference is measured as the difference of two rewards."""
        return self.spec.objective.type in COMPARING

    @property
    def best_by_margin(self) -> bool:
        """The best checkpoint is the one with the largest margin between the answers of a pair."""
        decided = self.decisions
        return (
            self.spec.objective.type in PAIRING
            and decided.evaluation.best_by.value == "metric"
            and decided.evaluation.metric.value == "none"
            and decided.splits.validation_rows.value > 0
        )

    @property
    def base_again(self) -> bool:
        """The base is loaded a second time from the Hub, as the reference of rewarded answers."""
        copied = self.objective.rewards and sampling_reference(self.spec) == "copy"
        return copied and self.source.model_path is None

    @property
    def reward_rules(self) -> tuple[Reward, ...]:
        """The rewards of sampled answers; none without such answers."""
        return find_rewards(self.spec.objective, self.facts.data) if self.objective.rewards else ()

    @property
    def reward_schema(self) -> bool:
        """A reward checks an answer with a JSON Schema."""
        return any(reward.json_schema is not None for reward in self.reward_rules)

    @property
    def reward_functions(self) -> bool:
        """A reward is a function of the user."""
        return any(reward.functions is not None for reward in self.reward_rules)

    @property
    def teacher_hub(self) -> bool:
        """The teacher is on the Hub."""
        return self.facts.teacher is not None and self.source.teacher_path is None

    @property
    def teacher_4bit(self) -> bool:
        """The teacher is loaded in 4 bits."""
        quantization = self.decisions.teacher.teacher_quantization
        return quantization is not None and quantization.value == "nf4"

    @property
    def vllm_server(self) -> bool:
        """A server of vLLM generates the answers of training."""
        return self.decisions.engine.vllm_share is not None and self.spec.objective.vllm == "server"

    @property
    def pins_engine(self) -> bool:
        """Inside the training processes, vLLM reads a model of the Hub."""
        inside = self.decisions.engine.vllm_share is not None and not self.vllm_server
        return inside and self.source.model_path is None

    # training

    @property
    def distributed(self) -> bool:
        """Several processes train, or DeepSpeed does."""
        return self.decisions.distribution.world.value > 1 or self.deepspeed

    @property
    def deepspeed(self) -> bool:
        """DeepSpeed trains."""
        return self.decisions.distribution.sharding.value.startswith("zero")

    @property
    def early_stopping(self) -> bool:
        """Training stops when the validation loss no longer falls."""
        patience = self.decisions.training.patience.value
        return patience is not None and self.decisions.splits.validation_rows.value > 0

    @property
    def concatenated(self) -> bool:
        """Packed rows are one after the other, without padding."""
        packed = self.decisions.rows.packing.value != "none"
        return packed and self.decisions.compute.attention.value == _VARIABLE_LENGTHS

    @property
    def stacked(self) -> bool:
        """Packed rows are the rows of a padded batch."""
        return self.decisions.rows.packing.value != "none" and not self.concatenated

    @property
    def liger(self) -> bool:
        """The kernels of liger-kernel are used."""
        return self.decisions.batch.liger is not None and self.decisions.batch.liger.value

    @property
    def by_length(self) -> bool:
        """Rows of similar lengths form a step.

        Trainers that generate answers sample their prompts themselves, and their answers have no
        length before that.
        """
        rows = self.decisions.rows
        is_sorted = rows.packing.value == "none" and sorts_rows(self.spec.objective)
        return rows.group_by_length.value or is_sorted

    @property
    def by_token(self) -> bool:
        """The loss is a mean over tokens, not over rows."""
        taught = self.facts.teacher is not None and self.facts.data.form != "prompt"
        return self.objective.packs or taught

    @property
    def averages_loss(self) -> bool:
        """The validation loss is averaged here. For labels, the mean is a metric."""
        alone = self.decisions.distribution.world.value == 1
        by_trainer = self.objective.rewards or (self.texts and alone)
        labelled = self.spec.objective.type == "classification"
        return self.decisions.splits.validation_rows.value > 0 and not (labelled or by_trainer)

    @property
    def cast_adapter(self) -> bool:
        """TRL casts the adapter to 16 bits, of which DeepSpeed would keep an fp32 copy."""
        return self.spec.method.type == "qlora" and not self.deepspeed

    # the launcher

    @property
    def every_node(self) -> bool:
        """The user starts run.sh on each node."""
        return self.facts.hardware.nodes > 1 and self.spec.launch.type != "slurm"

    @property
    def container(self) -> bool:
        """The Slurm job runs in a container."""
        return self.spec.launch.type == "slurm" and self.spec.launch.container is not None

    # evaluation

    @property
    def _compares(self) -> bool:
        """A metric compares answers that the model writes with those in the data."""
        is_asked = self.facts.data.form != "text" and self.objective.head != "scores"
        return is_asked and self.decisions.evaluation.metric.value != "none"

    @property
    def answered(self) -> bool:
        """A metric compares answers on the test split."""
        return self._compares and self.decisions.splits.test_rows.value > 0

    @property
    def written(self) -> bool:
        """evaluate.py writes the model's answers."""
        judged = self.objective.rewards and self.facts.data.form == "prompt"
        return self.answered or (judged and self.decisions.splits.test_rows.value > 0)

    @property
    def answered_gguf(self) -> bool:
        """A metric compares the answers of the GGUF files too."""
        return self.answered and not self.vision

    @property
    def labels(self) -> bool:
        """The metric counts labels that the model writes."""
        return self._compares and self.decisions.evaluation.metric.value in ("accuracy", "macro_f1")

    @property
    def best_by_metric(self) -> bool:
        """The best checkpoint is chosen by a metric of the answers that it writes."""
        return self._compares and self._validates_metric and not self.objective.rewards

    @property
    def best_class_metric(self) -> bool:
        """The best checkpoint is chosen by a metric of its scores."""
        return self.objective.head == "scores" and self._validates_metric

    @property
    def _validates_metric(self) -> bool:
        """A metric of the validation split chooses the best checkpoint."""
        decided = self.decisions.evaluation
        by_metric = decided.best_by.value == "metric" and decided.metric.value != "none"
        return by_metric and self.decisions.splits.validation_rows.value > 0

    # the stages after training

    @property
    def converted(self) -> bool:
        """llama.cpp's converter writes a GGUF file, of the model or of the adapter."""
        return bool(self.spec.export.types) or self.spec.export.adapter

    @property
    def verified(self) -> bool:
        """Exported files are compared with the trained model."""
        return self.converted or bool(self.spec.export.vllm)

    @property
    def projector(self) -> bool:
        """The parts that see are converted to a GGUF file of their own."""
        return bool(self.spec.export.types) and self.vision

    @property
    def importance(self) -> bool:
        """A GGUF type needs an importance matrix."""
        return any(wants_matrix(kind) for kind in self.spec.export.types)
