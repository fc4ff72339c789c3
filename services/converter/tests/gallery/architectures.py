"""In the image `gallery`: architectures by name, with random weights. `module:factory` finds each through `__getattr__`.

Nets of timm and torchvision are made for small pictures where they allow it; those of transformers have two layers.
"""

import torch

# The default build of torchvision brings operators for CUDA that do not load beside the CPU build of torch; its nets need
# none, but its import wants two of them to be declared.
_DECLARED = torch.library.Library("torchvision", "DEF")
for _operator in ("nms", "qnms"):
    _DECLARED.define(f"{_operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

TINY = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "vocab_size": 100,
    "max_position_embeddings": 64,
}
GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 100, "n_positions": 64}
T5 = {"d_model": 32, "num_layers": 2, "num_heads": 4, "d_ff": 64, "d_kv": 8, "vocab_size": 100}
DISTILBERT = {
    "dim": 32,
    "n_layers": 2,
    "n_heads": 4,
    "hidden_dim": 64,
    "vocab_size": 100,
    "max_position_embeddings": 64,
}
VISION = {**TINY, "image_size": 32, "patch_size": 8}
WAVES = {
    **TINY,
    "conv_dim": (16, 16),
    "conv_stride": (5, 2),
    "conv_kernel": (10, 3),
    "num_conv_pos_embedding_groups": 4,
}
WAVES |= {"num_feat_extract_layers": 2, "num_conv_pos_embeddings": 16}
SEGFORMER = {"hidden_sizes": [8, 16, 32, 64], "depths": [1, 1, 1, 1], "decoder_hidden_size": 32}

CONFIGS = {
    "bert": ("BertModel", TINY),
    "roberta": ("RobertaModel", TINY),
    "electra": ("ElectraModel", {**TINY, "embedding_size": 32}),
    "albert": ("AlbertModel", {**TINY, "embedding_size": 16}),
    "distilbert": ("DistilBertModel", DISTILBERT),
    "deberta_v2": ("DebertaV2Model", {**TINY, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
    "modernbert": ("ModernBertModel", {**TINY, "pad_token_id": 0, "global_attn_every_n_layers": 2}),
    "gpt2": ("GPT2LMHeadModel", GPT2),
    "llama": ("LlamaForCausalLM", {**TINY, "num_key_value_heads": 2}),
    "mistral": ("MistralForCausalLM", {**TINY, "num_key_value_heads": 2, "sliding_window": 4}),
    "qwen2": ("Qwen2ForCausalLM", {**TINY, "num_key_value_heads": 2}),
    "t5_encoder": ("T5EncoderModel", T5),
    "vit": ("ViTModel", VISION),
    "clip_vision": ("CLIPVisionModel", VISION),
    "segformer": ("SegformerForSemanticSegmentation", SEGFORMER),
    "wav2vec2": ("Wav2Vec2Model", WAVES),
}


class First(torch.nn.Module):
    """A net of transformers as a function of one tensor; what it gives first is its answer."""

    def __init__(self, net, **options):
        super().__init__()
        self.net, self.options = net, options

    def forward(self, x):
        return self.net(x, return_dict=False, **self.options)[0]


def __getattr__(name):
    package, _, rest = name.partition("__")
    makers = {"timm": of_timm, "torchvision": of_torchvision, "transformers": of_transformers, "trained": of_weights}
    if package not in makers:
        raise AttributeError(name)
    return lambda: makers[package](rest)


def of_timm(name):
    import timm

    small = (
        {"img_size": 64} if name in {"vit_tiny_patch16_224", "mixer_s32_224", "swin_tiny_patch4_window7_224"} else {}
    )
    return timm.create_model(name, pretrained=False, num_classes=10, **small)


def of_torchvision(name):
    from torchvision import models

    if name == "vit_small":
        return models.VisionTransformer(32, 8, 2, 4, 32, 64, num_classes=10)
    plain = {"aux_logits": False, "init_weights": False} if name == "googlenet" else {}
    if name.startswith(("deeplab", "lraspp")):
        plain = {"weights_backbone": None}
    net = models.get_model(name, weights=None, num_classes=10, **plain)
    return Segmentation(net) if "weights_backbone" in plain else net


class Segmentation(torch.nn.Module):
    """A net of torchvision that answers with a dict, of which `out` is the map."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x)["out"]


def of_transformers(name):
    import transformers

    kind, fields = CONFIGS[name]
    net_class = getattr(transformers, kind)
    text = "vocab_size" in fields and name not in {"vit", "clip_vision", "wav2vec2"}
    causal = kind.endswith(("CausalLM", "LMHeadModel"))
    if not text:
        fields = {key: value for key, value in fields.items() if key != "vocab_size" or name == "wav2vec2"}
    return First(net_class(net_class.config_class(**fields)), **({"use_cache": False} if causal else {}))


def of_weights(name):
    """What trained weights of a package belong to."""
    if name == "efficientnet_lite0":
        from efficientnet_lite_pytorch import EfficientNet

        return EfficientNet.from_name("efficientnet-lite0")
    from facenet_pytorch.models import mtcnn

    return getattr(mtcnn, name)(pretrained=False)
