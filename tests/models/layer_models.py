# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Models that visit every kind of one layer: convolutions, normalisations, poolings, activations,
losses.

Each takes few small inputs and returns a scalar, so that one capture sees all of a kind, forward
and backward.
"""
import torch
from torch import nn
from torch.nn import functional as F

BATCH = 2


def total(parts):
    """One number that every part has a share in, whatever its shape."""
    return torch.stack([part.float().pow(2).mean() for part in parts]).sum()


class InFloat(nn.Module):
    """A layer without parameters that the CPU has in fp32 alone."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x.float()).to(x.dtype)


class Convolutions(nn.Module):
    """1-d to 3-d: grouped, depthwise, dilated, strided, transposed, without bias, every padding
    mode, channels last."""

    def __init__(self):
        super().__init__()
        self.line = nn.ModuleList([
            nn.Conv1d(4, 8, 3, padding=1),
            nn.Conv1d(8, 8, 3, padding="same", dilation=2, groups=8),
            nn.Conv1d(8, 8, 4, stride=2, padding=1, groups=2, bias=False),
            nn.ConvTranspose1d(8, 4, 4, stride=2, padding=1),
        ])
        self.image = nn.ModuleList([
            nn.Conv2d(4, 8, 3, padding=1),
            nn.Conv2d(8, 8, 3, padding=2, dilation=2),
            nn.Conv2d(8, 8, 3, padding=1, groups=8),
            nn.Conv2d(8, 16, 3, padding=1, groups=8, bias=False),
            nn.Conv2d(16, 8, 1),
            nn.Conv2d(8, 8, (3, 5), stride=(2, 1), padding=(1, 2), groups=4),
            nn.ConvTranspose2d(8, 8, 3, stride=2, padding=1, output_padding=1, groups=2),
            nn.ConvTranspose2d(8, 8, 2, dilation=2, bias=False),
            nn.Conv2d(8, 8, 3, padding=1, padding_mode="reflect"),
            nn.Conv2d(8, 8, 3, padding=1, padding_mode="replicate"),
            nn.Conv2d(8, 8, 3, padding=1, padding_mode="circular"),
        ])
        self.last = nn.ModuleList([nn.Conv2d(4, 8, 3, padding=1), nn.Conv2d(8, 8, 3, groups=8),
                                   nn.ConvTranspose2d(8, 4, 2, stride=2)])
        self.volume = nn.ModuleList([
            nn.Conv3d(4, 8, 3, padding=1),
            nn.Conv3d(8, 8, (1, 3, 3), padding=(0, 1, 1), groups=8),
            nn.Conv3d(8, 8, 3, stride=2, padding=2, dilation=2, bias=False),
            nn.ConvTranspose3d(8, 4, 2, stride=2),
        ])
        self.patches = nn.Unfold(2, stride=2)
        self.fold = nn.Fold((8, 8), 2, stride=2)

    def forward(self, line, image, volume):
        unfolded = self.patches(image)
        parts = [self.fold(unfolded * 2)]
        last = image.contiguous(memory_format=torch.channels_last)
        for convolution in self.line:
            line = convolution(line)
        for convolution in self.image:
            image = convolution(image)
        for convolution in self.last:
            last = convolution(last)
        for convolution in self.volume:
            volume = convolution(volume)
        shuffled = F.pixel_unshuffle(F.pixel_shuffle(image, 2), 2)
        return total([*parts, line, shuffled, last, volume])


def convolutions():
    return Convolutions(), (torch.randn(BATCH, 4, 16), torch.randn(BATCH, 4, 8, 8),
                            torch.randn(BATCH, 4, 4, 8, 8))


class Norms(nn.Module):
    """Batch, group, instance, layer, RMS and local response norms, weight and spectral norm, on 1-d
    to 3-d inputs."""

    def __init__(self):
        super().__init__()
        self.line = nn.ModuleList([
            nn.BatchNorm1d(8), nn.BatchNorm1d(8, affine=False),
            nn.BatchNorm1d(8, track_running_stats=False), nn.InstanceNorm1d(8),
            nn.InstanceNorm1d(8, affine=True, track_running_stats=True), nn.GroupNorm(4, 8),
            nn.LayerNorm(16), nn.LayerNorm((8, 16), elementwise_affine=False),
            nn.LayerNorm(16, bias=False), nn.RMSNorm(16),
            nn.RMSNorm((8, 16), elementwise_affine=False), InFloat(nn.LocalResponseNorm(3)),
        ])
        self.image = nn.ModuleList([
            nn.BatchNorm2d(8), nn.InstanceNorm2d(8), nn.InstanceNorm2d(8, affine=True),
            nn.GroupNorm(2, 8, affine=False), InFloat(nn.LocalResponseNorm(5)),
            nn.BatchNorm2d(8, momentum=None),
        ])
        self.last = nn.ModuleList([nn.BatchNorm2d(8), nn.GroupNorm(4, 8),
                                   nn.InstanceNorm2d(8, affine=True)])
        self.volume = nn.ModuleList([nn.BatchNorm3d(4), nn.InstanceNorm3d(4, affine=True),
                                     nn.GroupNorm(1, 4), InFloat(nn.LocalResponseNorm(2))])
        self.flat = nn.ModuleList([nn.BatchNorm1d(16), nn.LayerNorm(16)])
        self.weight_normed = nn.utils.parametrizations.weight_norm(nn.Linear(16, 16))
        self.evaluated = nn.BatchNorm2d(8).eval()

    def forward(self, line, image, volume):
        flat = line[:, 0]
        last = image.contiguous(memory_format=torch.channels_last)
        fixed = F.batch_norm(image, self.evaluated.running_mean, self.evaluated.running_var,
                             self.evaluated.weight, self.evaluated.bias, training=False)
        for norm in self.line:
            line = norm(line)
        for norm in self.image:
            image = norm(image)
        for norm in self.last:
            last = norm(last)
        for norm in self.volume:
            volume = norm(volume)
        for norm in self.flat:
            flat = norm(flat)
        return total([line, image, last, volume, self.weight_normed(flat),
                      F.normalize(flat, dim=-1), fixed])


def norms():
    return Norms(), (torch.randn(BATCH, 8, 16), torch.randn(BATCH, 8, 6, 6),
                     torch.randn(BATCH, 4, 2, 4, 4))


class FrozenNorms(nn.Module):
    """Batch norms in evaluation that pass a gradient on, as in fine-tuning: contiguous and channels
    last, with weights and without."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(8, 1, 1))
        self.norm = nn.BatchNorm2d(8).eval()

    def evaluated(self, x, affine):
        weight, bias = (self.norm.weight, self.norm.bias) if affine else (None, None)
        return F.batch_norm(x, self.norm.running_mean, self.norm.running_var, weight, bias,
                            training=False)

    def forward(self, image):
        scaled = image * self.scale
        last = scaled.contiguous(memory_format=torch.channels_last)
        return total(
            [self.evaluated(x, affine) for x in (scaled, last) for affine in (True, False)])


def frozen_norms():
    return FrozenNorms(), (torch.randn(BATCH, 8, 6, 6),)


class Poolings(nn.Module):
    """Max, average, adaptive, Lp and fractional pooling in 1-d to 3-d, unpooling, every
    interpolation, padding."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4, 1))
        self.line = [nn.MaxPool1d(2), nn.MaxPool1d(3, stride=2, padding=1, dilation=1),
                     nn.AvgPool1d(2), nn.AdaptiveAvgPool1d(3), nn.AdaptiveMaxPool1d(3),
                     nn.LPPool1d(2, 2), nn.ReflectionPad1d(1), nn.ReplicationPad1d((1, 2)),
                     nn.ConstantPad1d(2, 1.0), nn.ZeroPad1d(1)]
        self.image = [nn.MaxPool2d(2), nn.MaxPool2d(3, stride=2, padding=1),
                      nn.MaxPool2d(2, dilation=2, ceil_mode=True), nn.AvgPool2d(2),
                      nn.AvgPool2d(3, padding=1, count_include_pad=False),
                      nn.AdaptiveAvgPool2d((2, 3)), nn.AdaptiveAvgPool2d(1),
                      nn.AdaptiveMaxPool2d(2), nn.LPPool2d(2, 2), nn.ReflectionPad2d(1),
                      nn.ReplicationPad2d(2), nn.ZeroPad2d(1)]
        self.volume = [nn.MaxPool3d(2), InFloat(nn.AvgPool3d(2)), nn.AdaptiveAvgPool3d((1, 2, 3)),
                       nn.AdaptiveAvgPool3d(1), nn.AdaptiveMaxPool3d(2), InFloat(nn.LPPool3d(2, 2)),
                       nn.ReplicationPad3d(1), nn.ReflectionPad3d(1)]

    def forward(self, line, image, volume):
        line = line * self.scale
        image = image * self.scale.unsqueeze(-1)
        volume = volume * self.scale.unsqueeze(-1).unsqueeze(-1)
        last = image.contiguous(memory_format=torch.channels_last)
        parts = [pool(line) for pool in self.line]
        parts += [pool(image) for pool in self.image]
        parts += [pool(last) for pool in self.image]
        parts += [pool(volume) for pool in self.volume]
        for source in (image, last):
            pooled, where = F.max_pool2d(source, 2, return_indices=True)
            parts.append(F.max_unpool2d(pooled, where, 2))
            for mode in ("nearest", "nearest-exact"):
                parts.append(F.interpolate(source, scale_factor=2, mode=mode))
            for mode in ("bilinear", "bicubic"):
                parts.append(F.interpolate(source, scale_factor=2, mode=mode, align_corners=False))
                parts.append(F.interpolate(source, size=(5, 7), mode=mode, align_corners=True))
            parts.append(F.interpolate(source.float(), size=(5, 7), mode="bilinear",
                                       antialias=True))
        for mode in ("nearest", "nearest-exact", "linear"):
            parts.append(F.interpolate(line, scale_factor=2, mode=mode))
        for mode in ("nearest", "nearest-exact", "trilinear"):
            parts.append(F.interpolate(volume, scale_factor=2, mode=mode))
        pooled, where = F.max_pool3d(volume, 2, return_indices=True)
        parts.append(F.max_unpool3d(pooled, where, 2))
        return total(parts)


def poolings():
    return Poolings(), (torch.randn(BATCH, 4, 16), torch.randn(BATCH, 4, 8, 8),
                        torch.randn(BATCH, 4, 4, 6, 6))


class Sampling(nn.Module):
    """Fractional pooling, grid sampling, affine grids: kernels that half precision lacks on the CPU
    stay in fp32."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4, 1, 1))
        self.theta = nn.Linear(4, 6)
        self.theta3 = nn.Linear(4, 12)

    def forward(self, image, volume):
        image = (image * self.scale).float()
        volume = (volume * self.scale.unsqueeze(-1)).float()
        samples = torch.full((image.size(0), 4, 2), 0.5)
        samples3 = torch.full((image.size(0), 4, 3), 0.5)
        theta = self.theta(image.mean((2, 3)).to(self.theta.weight.dtype)).float().view(-1, 2, 3)
        theta3 = self.theta3(volume.mean((2, 3, 4)).to(self.theta.weight.dtype)).float().view(
            -1, 3, 4)
        grid = F.affine_grid(theta, (image.size(0), 4, 5, 5), align_corners=False)
        grid3 = F.affine_grid(theta3, (image.size(0), 4, 2, 3, 3), align_corners=False)
        return total([
            F.fractional_max_pool2d(image, 2, output_size=(3, 3), _random_samples=samples),
            F.fractional_max_pool3d(volume, 2, output_size=(2, 2, 2), _random_samples=samples3),
            F.grid_sample(image, grid, align_corners=False),
            F.grid_sample(image, grid, mode="bicubic", padding_mode="reflection",
                          align_corners=True),
            F.grid_sample(volume, grid3, mode="nearest", padding_mode="border",
                          align_corners=False),
            F.grid_sample(volume, grid3, align_corners=False),
        ])


def sampling():
    return Sampling(), (torch.randn(BATCH, 4, 8, 8), torch.randn(BATCH, 4, 4, 6, 6))


class Activations(nn.Module):
    """Every activation of torch.nn, and the in-place ones on tensors that nothing else needs."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.activations = nn.ModuleList([
            nn.ReLU(), nn.ReLU6(), nn.GELU(), nn.GELU("tanh"), nn.SiLU(), nn.Mish(), nn.ELU(),
            nn.SELU(), nn.CELU(), nn.Softplus(), nn.Hardswish(), nn.Hardsigmoid(), nn.Hardtanh(),
            nn.Hardshrink(), nn.Softshrink(), nn.Tanhshrink(), nn.Softsign(), nn.LeakyReLU(0.1),
            nn.PReLU(), nn.PReLU(8), InFloat(nn.RReLU()), nn.Threshold(0.1, 0.2), nn.Tanh(),
            nn.Sigmoid(), nn.LogSigmoid(), nn.Softmax(-1), nn.LogSoftmax(-1), nn.Softmin(-1),
            nn.AlphaDropout(0.1), nn.FeatureAlphaDropout(0.1), nn.Dropout(0.1), nn.Dropout1d(0.1),
        ])
        self.in_place = nn.ModuleList([
            nn.ReLU(inplace=True), nn.ReLU6(inplace=True), nn.SiLU(inplace=True),
            nn.Mish(inplace=True), nn.ELU(inplace=True), nn.SELU(inplace=True),
            nn.CELU(inplace=True), nn.Hardswish(inplace=True), nn.Hardsigmoid(inplace=True),
            nn.Hardtanh(inplace=True), nn.LeakyReLU(0.1, inplace=True),
            InFloat(nn.RReLU(inplace=True)), nn.Threshold(0.1, 0.2, inplace=True),
            nn.Dropout(0.1, inplace=True), nn.AlphaDropout(0.1, inplace=True),
        ])

    def forward(self, x):
        x = self.linear(x)
        parts = [activation(x) for activation in self.activations]
        parts += [activation(x + 1) for activation in self.in_place]
        parts += [F.glu(x), (x + 1).tanh_(), (x + 1).sigmoid_(), F.softmax(x, 1),
                  F.gumbel_softmax(x, hard=False)]
        y = x + 1
        y += x
        y *= 2
        y -= x
        y /= 3
        y[:, :, 1:].add_(1)
        y[:, 0] = 0
        parts += [y.clamp_(-1, 1), (x + 1).exp_(), (x * x + 1).sqrt_(),
                  (x * 2).masked_fill_(x > 0, 1.0)]
        return total(parts)


def activations():
    return Activations(), (torch.randn(BATCH, 8, 8),)


class Losses(nn.Module):
    """Every loss of torch.nn that needs no value of the data."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 6)
        self.register_buffer("class_weight", torch.linspace(0.5, 1.5, 6))

    def forward(self, x, other, labels, image_labels):
        y = self.linear(x)
        z = self.linear(other)
        batch = x.size(0)
        image = y.view(batch, 6, 1, 1).expand(batch, 6, 3, 3)
        unit = y.sigmoid()
        goal = z.detach()
        sign = labels.to(y.dtype) * 0 + 1
        parts = [
            F.cross_entropy(y, labels),
            F.cross_entropy(y, labels, label_smoothing=0.1, ignore_index=5),
            F.cross_entropy(y, labels, weight=self.class_weight),
            F.cross_entropy(y, goal.softmax(-1), label_smoothing=0.1),
            F.cross_entropy(y, labels, reduction="sum"), F.cross_entropy(image, image_labels),
            F.nll_loss(y.log_softmax(-1), labels),
            F.nll_loss(image.log_softmax(1), image_labels, ignore_index=0),
            F.binary_cross_entropy(unit, goal.sigmoid()),
            # F's checks cannot be traced
            torch._C._nn.binary_cross_entropy(unit, goal.sigmoid(), self.class_weight, 1),
            F.binary_cross_entropy_with_logits(y, goal.sigmoid()),
            F.binary_cross_entropy_with_logits(y, goal.sigmoid(), weight=goal.sigmoid(),
                                               pos_weight=self.class_weight),
            F.mse_loss(y, z), F.mse_loss(y, goal, reduction="sum"), F.l1_loss(y, z),
            F.smooth_l1_loss(y, z, beta=0.5), F.huber_loss(y, z, delta=0.5),
            F.kl_div(y.log_softmax(-1), z.softmax(-1), reduction="batchmean"),
            F.kl_div(y.log_softmax(-1), z.log_softmax(-1), log_target=True, reduction="mean"),
            F.poisson_nll_loss(y, goal.exp()), F.gaussian_nll_loss(y, goal, unit),
            F.cosine_embedding_loss(y, z, sign),
            F.hinge_embedding_loss(y, (goal > 0).to(y.dtype) * 2 - 1),
            F.margin_ranking_loss(y[:, 0], z[:, 0], sign, margin=0.1),
            F.triplet_margin_loss(y, z, goal),
            F.triplet_margin_with_distance_loss(y, z, goal, distance_function=F.pairwise_distance),
            F.soft_margin_loss(y, (goal > 0).to(y.dtype) * 2 - 1),
            F.multilabel_soft_margin_loss(y, goal.sigmoid()),
            F.multi_margin_loss(y.float(), labels),
            F.multilabel_margin_loss(y.float(), labels.unsqueeze(1).expand(batch, 6)),
            F.cosine_similarity(y, z).mean(),
        ]
        for reduction in ("none", "sum"):
            parts += [loss(y, z, reduction=reduction).mean()
                      for loss in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss)]
            parts.append(F.binary_cross_entropy_with_logits(y, goal.sigmoid(),
                                                            reduction=reduction).mean())
        times = y.float().unsqueeze(0).expand(12, batch, 6).log_softmax(-1)
        symbols = torch.ones(batch, 4, dtype=torch.long)
        parts += [F.ctc_loss(times, symbols, (12,) * batch, (4, 3) * (batch // 2),
                             reduction=reduction).mean() for reduction in ("none", "sum")]
        return torch.stack([part.float() for part in parts]).sum()


def losses():
    return Losses(), (torch.randn(4, 8), torch.randn(4, 8), torch.randint(6, (4,)),
                      torch.randint(6, (4, 3, 3)))


MODELS = {
    "convolutions": convolutions,
    "norms": norms,
    "frozen-norms": frozen_norms,
    "poolings": poolings,
    "sampling": sampling,
    "activations": activations,
    "losses": losses,
}
