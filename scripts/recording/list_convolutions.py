#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Lists what cuDNN is asked about the convolutions of common nets of torchvision: a query a line,
for all three passes (lib/operators/convolution/convolution_query.h). Runs nothing: the nets are on
the meta device. Needs torchvision.

Usage: list_convolutions.py > queries.txt
"""
import contextlib
import sys
import warnings

warnings.filterwarnings("ignore")
import torch  # noqa: E402
import torchvision  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

NETS = (
    "resnet18 resnet34 resnet50 resnet101 resnext50_32x4d wide_resnet50_2 vgg16_bn densenet121 "
    "mobilenet_v2 mobilenet_v3_large "
    "efficientnet_b0 efficientnet_b3 efficientnet_v2_s convnext_tiny convnext_base regnet_y_8gf "
    "inception_v3 vit_b_16 vit_l_16 "
    "deeplabv3_resnet50 fcn_resnet50"
).split()
BATCHES, MOST_SEGMENTED = (8, 16, 32, 64, 128), 16
DTYPES = {torch.float32: "fp32", torch.bfloat16: "bf16"}


def has_channels_last(tensor):
    return tensor.is_contiguous(memory_format=torch.channels_last) and not tensor.is_contiguous()


class Listing(TorchDispatchMode):
    def __init__(self, found):
        super().__init__()
        self.found = found

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function is torch.ops.aten.convolution.default and not args[6] and args[0].dim() == 4:
            image, weight, _, stride, padding, dilation, _, _, groups = args
            layout = "nhwc" if has_channels_last(image) or has_channels_last(weight) else "nchw"
            # else LibTorch's own kernel
            if layout == "nhwc" or groups == 1 or groups != image.shape[1]:
                def text(sizes):
                    return ",".join(map(str, sizes))
                for one in ("fwd", "dgrad", "wgrad"):
                    self.found.add(
                        f"{one} {DTYPES[image.dtype]} {layout} x={text(image.shape)} "
                        f"w={text(weight.shape)} "
                        f"s={text(stride)} p={text(padding)} d={text(dilation)} g={groups}")
        return function(*args, **(kwargs or {}))


def net(name):
    if "deeplab" in name or "fcn" in name:
        return torchvision.models.get_model(name, weights=None, weights_backbone=None), 512
    if "inception" in name:
        return torchvision.models.get_model(name, weights=None, init_weights=False), 299
    return torchvision.models.get_model(name, weights=None), 224


def main():
    found = set()
    for name in NETS:
        # RegNet computes with its settings while it is built.
        with contextlib.nullcontext() if "regnet" in name else torch.device("meta"):
            model, size = net(name)
        for dtype in DTYPES:
            for layout in (torch.contiguous_format, torch.channels_last):
                model = model.to(device="meta", dtype=dtype, memory_format=layout).eval()
                for batch in BATCHES:
                    if size == 512 and batch > MOST_SEGMENTED:
                        continue
                    images = torch.zeros(batch, 3, size, size, dtype=dtype,
                                         device="meta").to(memory_format=layout)
                    with torch.no_grad(), Listing(found):
                        model(images)
        print(f"{name}: {len(found)} queries", file=sys.stderr, flush=True)
    print("\n".join(sorted(found)))


if __name__ == "__main__":
    main()
