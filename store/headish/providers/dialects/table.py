"""The dialects by name. Each fact of a row has its source: a page, the date of the page, and what it says.

A fact that no page confirms has the date ``unconfirmed``. If a server refuses something for only some of its models,
the row refuses it if these are most of the models that the server offers now. A parameter under ``params.openai`` is
sent unchanged, whatever a row says. A ``developer`` message is sent as ``system`` unless a source says that the server
takes it: every server knows the role ``system``.
"""

from __future__ import annotations

from headish.providers.dialects.values import DETAILS, FORCED, NAMED, PARTS, STREAM_OPTIONS, STRICT, Dialect, Fact

UNCONFIRMED = "unconfirmed"
"""The date of a fact for which no page was found that says it."""
_SYSTEM = {"developer": "system"}
_MAX_TOKENS = {"max_tokens": "max_tokens"}
_TOP_K = {"top_k": "top_k"}
_THINK = ("think",)

DIALECTS: dict[str, Dialect] = {
    "openai": Dialect(
        title="OpenAI, and any server that nothing is known of",
        hosts=("api.openai.com",),
        customs=True,
        sources=(
            Fact("https://developers.openai.com/api/reference/resources/chat, openai 3.54.0", "2026-11-21",
                   "the shape itself; reasoning is neither given nor taken"),
        ),
    ),
    "azure": Dialect(
        title="Azure OpenAI",
        customs=True,
        hosts=(".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"),
        sources=(
            Fact("https://learn.microsoft.com/en-us/azure/ai-foundry/openai/latest", "2026-11-22",
                   "POST {endpoint}/openai/v1/chat/completions with OpenAI's own parameters"),
            Fact("https://github.com/Azure/azure-functions-openai-extension/issues/151", "2026-07-26",
                   "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead"),
        ),
    ),
    "deepseek": Dialect(
        title="DeepSeek",
        hosts=("api.deepseek.com",),
        reasoning="reasoning_content",
        fills=True,
        keys=(),
        lists=False,
        roles=_SYSTEM,
        places=_MAX_TOKENS,
        refused={
            "schema": "its response_format is text or json_object; put the schema into the prompt, and set"
                      " params.openai.response_format",
        },
        sources=(
            Fact("https://api-docs.deepseek.com/guides/thinking_mode", "2026-11-22",
                   "reasoning_content of turns that call tools must be passed back in all later requests, else 400"),
            Fact("https://github.com/deepseek-ai/deepseek-harness/discussions/739", "2026-11-22",
                   "an answer that calls a tool needs the key even where its reasoning is empty"),
            Fact("https://github.com/earendil-works/pi/issues/1048", "2026-01-28",
                   "unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`"),
            Fact("https://github.com/QwenLM/qwen-code/pull/2320", "2026-03-12",
                   "content has to be a string: invalid type: sequence, expected a string"),
            Fact("https://github.com/UKGovernmentBEIS/inspect_ai/issues/4916", "2026-08-17",
                   "json_schema: This response_format type is unavailable now"),
            Fact("https://api-docs.deepseek.com/api/create-chat-completion", UNCONFIRMED, "max_tokens"),
        ),
    ),
    "kimi": Dialect(
        title="Kimi (Moonshot AI)",
        hosts=("api.moonshot.ai", "api.moonshot.cn"),
        reasoning="reasoning_content",
        fills=True,
        roles=_SYSTEM,
        refused={"temperature": "its models fix it, and another value is an error"},
        ignored={STRICT: "it does not know strict tools"},
        sources=(
            Fact("https://github.com/bytedance/deer-flow/issues/3043", "2026-05-19",
                   "thinking is enabled but reasoning_content is missing in assistant tool call message"),
            Fact("https://github.com/Lapis0x0/obsidian-yolo/pull/243", "2026-04-18",
                   "an empty reasoning_content satisfies the check"),
            Fact("https://github.com/simstudioai/sim/pull/5716", "2026-07-16",
                   "max_completion_tokens and json_schema are taken; a temperature of one's own is refused"),
            Fact("https://github.com/earendil-works/pi, openai-completions.ts", "2026-11-22",
                   "no developer role, no strict tools"),
        ),
    ),
    "qwen": Dialect(
        title="Qwen (Alibaba Cloud Model Studio)",
        hosts=("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"),
        reasoning="reasoning_content",
        roles=_SYSTEM,
        places=_MAX_TOKENS,
        sources=(
            Fact("https://help.aliyun.com/en/model-studio/deep-thinking", "2026-11-22",
                   "thinking comes as reasoning_content; stream_options.include_usage is taken"),
            Fact("https://github.com/QwenLM/qwen-code, openaiContentGenerator/provider/dashscope.ts", "2026-11-22",
                   "its maker's own client: the hosts, max_tokens, preserve_thinking for reasoning of earlier turns"),
        ),
    ),
    "glm": Dialect(
        title="GLM (Z.ai, Zhipu)",
        hosts=("api.z.ai", "open.bigmodel.cn"),
        reasoning="reasoning_content",
        roles=_SYSTEM,
        places=_MAX_TOKENS,
        refused={
            "effort": "thinking is switched by params.openai.thinking",
        },
        sources=(
            Fact("https://docs.z.ai/guides/capabilities/thinking-mode", "2026-11-22",
                   "with tools, reasoning_content has to be returned together with the results, unmodified"),
            Fact("https://github.com/earendil-works/pi/issues/547", "2026-01-07",
                   "400 Incorrect role information for the developer role; no reasoning_effort"),
            Fact("https://docs.camel-ai.org/reference/camel.configs.zhipuai_config.md", "2026-11-22", "max_tokens"),
        ),
    ),
    "minimax": Dialect(
        title="MiniMax",
        hosts=("api.minimax.io", "api.minimaxi.com"),
        tags=_THINK,
        details=True,
        format="MiniMax",
        keys=(DETAILS,),
        roles=_SYSTEM,
        ignored={FORCED: "its tools have no tool_choice", NAMED: "its tools have no tool_choice"},
        sources=(
            Fact("https://platform.minimax.io/docs/guides/text-m2-function-call", "2026-11-22",
                   "the whole answer goes back: <think> inside the content, or reasoning_details with reasoning_split"),
            Fact("https://java.agentscope.io/v2/en/integration/model/minimax", "2026-11-22",
                   "max_tokens is deprecated: max_completion_tokens; the schema of tools has no tool_choice"),
            Fact("https://github.com/iOfficeAI/gemini-cli-pro/pull/33", "2026-03-23",
                   "400 Mismatch type []*open_platform_oai.ReasoningDetail for reasoning_details of OpenRouter's"),
        ),
    ),
    "openrouter": Dialect(
        title="OpenRouter",
        hosts=("openrouter.ai",),
        reasoning="reasoning",
        details=True,
        sealed=(DETAILS,),
        roles=_SYSTEM,
        sources=(
            Fact("https://openrouter.ai/docs/use-cases/reasoning-tokens", "2026-11-22",
                   "reasoning_details have to be passed back unmodified, in their order; else reasoning"),
            Fact("https://github.com/RooCodeInc/Roo-Code/pull/9506", "2025-11-22",
                   "Gemini 3 behind it answers 400 to a tool loop without them"),
        ),
    ),
    "mistral": Dialect(
        title="Mistral",
        hosts=("api.mistral.ai", "codestral.mistral.ai"),
        reasoning=PARTS,
        keys=(),
        ids=9,
        roles=_SYSTEM,
        places={"max_tokens": "max_tokens", "seed": "random_seed"},
        refused={STREAM_OPTIONS: "it counts the tokens of a stream by itself"},
        sources=(
            Fact("https://github.com/avante-corp/avante.nvim/issues/2347", "2025-06-27",
                   "422 extra_forbidden: stream_options.include_usage"),
            Fact("https://github.com/Gitlawb/openclaude/issues/739", "2026-04-17",
                   "422 extra_forbidden: max_completion_tokens, store"),
            Fact("https://github.com/nearai/ironclaw/issues/1241", "2026-03-16",
                   "Tool call id was turn1_0 but must be a-z, A-Z, 0-9, with a length of 9"),
            Fact("https://docs.mistral.ai/capabilities/reasoning", "2026-11-22",
                   "reasoning is a part of the content, before the answer"),
            Fact("https://docs.mistral.ai/api", UNCONFIRMED, "random_seed"),
        ),
    ),
    "groq": Dialect(
        title="Groq",
        hosts=("api.groq.com",),
        tags=_THINK,
        keys=(),
        sources=(
            Fact("https://github.com/tashfeenahmed/freellmapi/issues/1070", "2026-08-30",
                   "property 'reasoning_content' is unsupported, in a message of the assistant"),
            Fact("https://github.com/vercel/ai/pull/8057", "2025-08-14",
                   "reasoning is not supported with this model, for most of its models"),
        ),
    ),
    "xai": Dialect(
        title="xAI",
        hosts=("api.x.ai", ".api.x.ai"),
        roles=_SYSTEM,
        refused={
            "presence_penalty": "its models refuse it",
            "frequency_penalty": "its models refuse it",
            "stop_sequences": "its reasoning models refuse stop",
        },
        sources=(
            Fact("https://github.com/miaoxworld/NativeTavern/issues/83", "2026-09-15",
                   "Model does not support parameter presencePenalty, for all of its models"),
            Fact("https://github.com/langchain-ai/langchain/pull/38335", "2026-06-20",
                   "reasoning models refuse stop"),
            Fact("https://github.com/NousResearch/hermes-agent/pull/23435", "2026-05-10",
                   "reasoning_effort is for grok-3-mini, grok-4.3 and grok-4.20-multi-agent; the others refuse it"),
            Fact("https://github.com/earendil-works/pi, openai-completions.ts", "2026-11-22", "no developer role"),
        ),
    ),
    "together": Dialect(
        title="Together AI",
        hosts=("api.together.xyz", "api.together.ai"),
        tags=_THINK,
        roles=_SYSTEM,
        places=_MAX_TOKENS,
        ignored={STRICT: "it does not know strict tools"},
        sources=(
            Fact("https://docs.together.ai/docs/kimi-k2-thinking-quickstart", "2026-11-22",
                   "reasoning comes under reasoning"),
            Fact("https://github.com/earendil-works/pi, openai-completions.ts", "2026-11-22",
                   "max_tokens, no developer role, no strict tools"),
        ),
    ),
    "fireworks": Dialect(
        title="Fireworks AI",
        hosts=("api.fireworks.ai",),
        reasoning="reasoning_content",
        tags=_THINK,
        roles=_SYSTEM,
        sources=(
            Fact("https://docs.fireworks.ai/guides/reasoning", "2026-11-22",
                   "reasoning comes as reasoning_content, of some models inside the content"),
            Fact("https://docs.fireworks.ai/fine-tuning/thinking-history.md", "2026-11-22",
                   "reasoning_history says whether the reasoning_content of earlier turns is shown to the model"),
        ),
    ),
    "gemini": Dialect(
        title="Gemini behind its compatible endpoint",
        hosts=("generativelanguage.googleapis.com", "aiplatform.googleapis.com", ".aiplatform.googleapis.com"),
        tags=("thought",),
        keys=("extra_content",),
        roles=_SYSTEM,
        refused={
            "frequency_penalty": "Unknown name: Cannot find field",
            "seed": "Unknown name: Cannot find field",
            "parallel_tool_calls": "Unknown name: Cannot find field",
        },
        sources=(
            Fact("https://github.com/securo-finance/securo/issues/884", "2026-09-10",
                   "400 for a call without its extra_content.google.thought_signature"),
            Fact("https://github.com/sleepydeer666/RPGBox/issues/2", "2026-08-29",
                   'Unknown name "frequency_penalty"'),
            Fact("https://github.com/Vali-98/ChatterUI/issues/227", "2025-02-14", 'Unknown name "seed"'),
            Fact("https://github.com/jackmpcollins/magentic/pull/382", "2024-11-29",
                   'Unknown name "parallel_tool_calls"'),
            Fact("https://ai.google.dev/gemini-api/docs/openai", UNCONFIRMED,
                   "with include_thoughts, the content begins with <thought>"),
        ),
    ),
    "ollama": Dialect(
        title="Ollama",
        hosts=("ollama.com", "loopback:11434"),
        reasoning="reasoning",
        tags=_THINK,
        roles=_SYSTEM,
        places=_MAX_TOKENS,
        ignored={
            "parallel_tool_calls": "it does not know it",
            FORCED: "it does not know tool_choice",
            NAMED: "it does not know tool_choice",
            STRICT: "it does not know it",
        },
        sources=(
            Fact("https://github.com/ollama/ollama, openai/openai.go", "2026-11-22",
                   "reads reasoning of a message, max_tokens, stream_options; passes over keys that it does not have"),
            Fact("https://github.com/ollama/ollama/pull/14821", "2026-03-13", "reasoning_effort high to none"),
        ),
    ),
    "vllm": Dialect(
        title="vLLM",
        reasoning="reasoning",
        tags=_THINK,
        sources=(
            Fact("https://github.com/vllm-project/router/pull/115", "2026-03-09",
                   "reasoning, both ways; reasoning_content was removed"),
            Fact("https://docs.vllm.ai/en/v0.17.1/features/interleaved_thinking", "2026-11-22",
                   "reasoning goes back between tool calls"),
        ),
    ),
    "sglang": Dialect(
        title="SGLang",
        reasoning="reasoning_content",
        tags=_THINK,
        sources=(
            Fact("https://docs.sglang.io/docs/advanced_features/separate_reasoning", "2026-11-22",
                   "reasoning comes as reasoning_content with --reasoning-parser, else between tags"),
            Fact("https://docs.sglang.io/docs/basic_usage/openai_api_completions", "2026-11-22",
                   "the server fully implements the OpenAI API"),
        ),
    ),
    "llamacpp": Dialect(
        title="llama.cpp",
        reasoning="reasoning_content",
        tags=_THINK,
        roles=_SYSTEM,
        places=_MAX_TOKENS | _TOP_K,
        sources=(
            Fact("https://github.com/ggml-org/llama.cpp/pull/16934", "2025-11-02",
                   "reasoning_content is passed back to the model"),
            Fact("https://github.com/ggml-org/llama.cpp, tried with xllamacpp 2026.10.11549", "2026-11-22",
                   "max_tokens limits the answer, response_format holds it to its schema, reasoning_content is taken"),
            Fact("https://github.com/ggml-org/llama.cpp, tools/server/README.md", "2026-11-22",
                   "max_tokens and top_k; <think> stays in the content without --reasoning-format"),
        ),
    ),
    "lmstudio": Dialect(
        title="LM Studio",
        hosts=("loopback:1234",),
        tags=_THINK,
        roles=_SYSTEM,
        places=_MAX_TOKENS | _TOP_K,
        refused={NAMED: "Invalid tool_choice type: 'object'. Supported string values: none, auto, required"},
        sources=(
            Fact("https://github.com/antropia-studio/linguito/issues/21", "2025-05-27",
                   "Invalid tool_choice type: 'object'. Supported string values: none, auto, required"),
            Fact("https://lmstudio.ai/docs/developer/openai-compat/chat-completions", UNCONFIRMED,
                   "max_tokens and top_k"),
        ),
    ),
    "litellm": Dialect(
        title="LiteLLM's proxy",
        reasoning="reasoning_content",
        sealed=("thinking_blocks", "provider_specific_fields"),
        sources=(
            Fact("https://docs.litellm.ai/docs/reasoning_content", "2026-10-02",
                   "reasoning_content, and thinking_blocks for Anthropic; both go back with a tool loop"),
            Fact("https://github.com/langbot-app/LangBot/pull/2265", "2026-06-19",
                   "Gemini's thought_signature is in provider_specific_fields of the message and of its calls"),
        ),
    ),
}  # fmt: skip
