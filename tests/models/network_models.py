# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Small networks of families that people train: U-Net, recommendation, mixture of experts,
recurrent nets."""
import torch
from torch import nn
from torch.nn import functional as F

BATCH = 2


class ConvBlock(nn.Module):
    def __init__(self, inputs, outputs, norm):
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.norms = nn.ModuleList([norm(outputs), norm(outputs)])

    def forward(self, x):
        x = F.silu(self.norms[0](self.first(x)))
        return F.relu(self.norms[1](self.second(x)), inplace=True)


class UNet(nn.Module):
    """Skip connections by cat; up by transposed convolution, bilinear and nearest interpolation; a
    time embedding."""

    def __init__(self):
        super().__init__()
        widths = [8, 16, 32, 32]
        self.stem = nn.Conv2d(3, widths[0], 3, padding=1)
        self.time = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, widths[-1]))
        self.down = nn.ModuleList([ConvBlock(widths[i], widths[i + 1], nn.BatchNorm2d
                                             if i == 1 else lambda n: nn.GroupNorm(4, n))
                                   for i in range(3)])
        self.turn = nn.ConvTranspose2d(32, 32, 2, stride=2)
        self.up = nn.ModuleList([ConvBlock(64, 16, lambda n: nn.GroupNorm(4, n)),
                                 ConvBlock(32, 8, nn.BatchNorm2d),
                                 ConvBlock(16, 8, lambda n: nn.GroupNorm(4, n))])
        self.head = nn.Conv2d(8, 3, 1)

    def forward(self, image, steps):
        frequency = torch.exp(-torch.arange(8, dtype=torch.float32))
        angle = steps[:, None].float() * frequency
        time = self.time(torch.cat([angle.sin(), angle.cos()], dim=-1).to(image.dtype))
        x = self.stem(image)
        skips = [x]
        for block in self.down:
            x = F.max_pool2d(block(x), 2)
            skips.append(x)
        x = x + time[:, :, None, None]
        x = self.up[0](torch.cat([self.turn(x), skips[2]], dim=1))
        x = self.up[1](
            torch.cat([F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False),
                       skips[1]], dim=1))
        x = self.up[2](torch.cat([F.interpolate(x, scale_factor=2, mode="nearest"), skips[0]],
                                 dim=1))
        return F.mse_loss(self.head(x), image)


def unet():
    return UNet(), (torch.randn(BATCH, 3, 16, 16), torch.randint(100, (BATCH,)))


class Recommendation(nn.Module):
    """Embedding bags of every mode beside dense features, pairwise interactions, a multi-layer
    perceptron."""

    def __init__(self):
        super().__init__()
        self.bags = nn.ModuleList([nn.EmbeddingBag(50, 16, mode="sum"),
                                   nn.EmbeddingBag(40, 16, mode="mean"),
                                   nn.EmbeddingBag(30, 16, mode="max"),
                                   nn.EmbeddingBag(30, 16, mode="sum", padding_idx=0)])
        self.offsets = nn.EmbeddingBag(20, 16, mode="sum", include_last_offset=True)
        self.weighted = nn.EmbeddingBag(20, 16, mode="sum")
        self.bottom = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(16 + 21, 32), nn.ReLU(), nn.Linear(32, 1))
        rows, columns = torch.tril_indices(7, 7, offset=-1)
        self.register_buffer("rows", rows)
        self.register_buffer("columns", columns)

    def forward(self, dense, sparse, weights, clicks):
        x = self.bottom(dense)
        vectors = [x] + [bag(sparse[:, i]) for i, bag in enumerate(self.bags)]
        flat = sparse[:, 4].flatten()
        vectors.append(self.offsets(flat, torch.arange(0, flat.numel() + 1, sparse.size(2))))
        vectors.append(self.weighted(sparse[:, 5], per_sample_weights=weights))
        stacked = torch.stack(vectors, dim=1)
        interactions = torch.bmm(stacked, stacked.transpose(1, 2))[:, self.rows, self.columns]
        logits = self.top(torch.cat([x, interactions], dim=1)).squeeze(1)
        return F.binary_cross_entropy_with_logits(logits, clicks)


def recommendation():
    return Recommendation(), (torch.randn(4, 13), torch.randint(20, (4, 6, 3)), torch.rand(4, 3),
                              torch.rand(4))


def one_hot(index, classes):
    """Without the reads of F.one_hot's checks, which end in the CPU's program."""
    return (index.unsqueeze(-1) == torch.arange(classes)).long()


class OneHot(nn.Module):
    """Calls whose values the CPU reads, to check them or to choose a formula, and CUDA does not."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6, 8) * 0.1)

    def forward(self, labels):
        y = F.one_hot(labels, 6).to(self.weight.dtype) @ self.weight
        return y.max() - y.min() + y.pow(2).mean()


def one_hot_labels():
    return OneHot(), (torch.randint(6, (BATCH, 4)),)


class ValueDependent(nn.Module):
    """Gradients with a faster formula for data without zeros, and a loss that is divided by
    lengths."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6, 8) * 0.1)

    def forward(self, x):
        y = x @ self.weight
        times = y.float().unsqueeze(0).expand(12, -1, -1).log_softmax(-1)
        lost = F.ctc_loss(times, torch.ones(BATCH, 4, dtype=torch.long), (12,) * BATCH, (4, 3))
        return lost + (y.prod() + y.prod(1).sum() + y.cumprod(0).mean()).float()


def value_dependent():
    return ValueDependent(), (torch.randn(BATCH, 6),)


HOST_SYMBOLS = torch.tensor([1, 2, 3, 4, 1, 2, 3], dtype=torch.int32)


class HostTargets(nn.Module):
    """A loss whose targets are a constant on the host: there cuDNN has a kernel for it."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6, 8) * 0.1)

    def forward(self, x):
        times = (x @ self.weight).float().unsqueeze(0).expand(12, -1, -1).log_softmax(-1)
        return F.ctc_loss(times, HOST_SYMBOLS, (12,) * BATCH, (4, 3), reduction="sum")


def host_targets():
    return HostTargets(), (torch.randn(BATCH, 6),)


class Experts(nn.Module):
    """Top-2 routing with a fixed capacity: dispatch and combine are dense one-hot products, so
    shapes are static."""

    def __init__(self, width=32, experts=4, capacity=8):
        super().__init__()
        self.capacity, self.experts = capacity, experts
        self.router = nn.Linear(width, experts, bias=False)
        self.up = nn.Parameter(torch.randn(experts, width, 2 * width) * 0.1)
        self.down = nn.Parameter(torch.randn(experts, 2 * width, width) * 0.1)

    def forward(self, x):
        probabilities = F.softmax(self.router(x).float(), dim=-1)
        weight, chosen = probabilities.topk(2, dim=-1)
        weight = weight / weight.sum(-1, keepdim=True)
        combine = torch.zeros(x.size(0), self.experts, self.capacity, dtype=torch.float32)
        taken = torch.zeros(self.experts, dtype=torch.long)
        for k in range(2):
            mask = one_hot(chosen[:, k], self.experts)
            place = (mask.cumsum(0) - 1 + taken) * mask
            taken = taken + mask.sum(0)
            kept = mask * (place < self.capacity)
            slot = one_hot((place * kept).sum(-1), self.capacity).float()
            combine = combine + (weight[:, k, None] * kept.float())[:, :, None] * slot[:, None, :]
        combine = combine.to(x.dtype)
        dispatched = torch.einsum("tec,td->ecd", (combine > 0).to(x.dtype), x)
        hidden = F.gelu(torch.bmm(dispatched, self.up))
        mixed = torch.einsum("tec,ecd->td", combine, torch.bmm(hidden, self.down))
        balance = (probabilities.mean(0)
                   * one_hot(chosen[:, 0], self.experts).float().mean(0)).sum() * self.experts
        return mixed, balance


class MixtureOfExperts(nn.Module):
    """Two blocks of experts; the second sorts tokens by gathering each expert's rows instead."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(32, 32)
        self.norm = nn.RMSNorm(32)
        self.experts = Experts()
        self.gate = nn.Linear(32, 4)
        self.dense = nn.ModuleList(
            [nn.Sequential(nn.Linear(32, 48), nn.SiLU(), nn.Linear(48, 32)) for _ in range(4)])
        self.head = nn.Linear(32, 32)

    def forward(self, tokens):
        x = self.embedding(tokens).flatten(0, 1)
        mixed, balance = self.experts(self.norm(x))
        x = x + mixed
        values, chosen = self.gate(x).topk(2, dim=-1)
        gates = torch.zeros(x.size(0), 4, dtype=x.dtype).scatter(1, chosen, values.softmax(-1))
        x = x + sum(gates[:, i, None] * expert(x) for i, expert in enumerate(self.dense))
        # Expert choice: every expert takes its best tokens, a fixed number of them.
        score, rows = self.gate(x).softmax(-1).topk(4, dim=0)
        for i, expert in enumerate(self.dense):
            x = x.index_add(0, rows[:, i],
                            expert(x.index_select(0, rows[:, i])) * score[:, i, None])
        return F.cross_entropy(self.head(x), tokens.flatten()) + 0.01 * balance


def mixture_of_experts():
    return MixtureOfExperts(), (torch.randint(32, (BATCH, 8)),)


class Recurrent(nn.Module):
    """torch.nn's recurrent layers and cells: both directions, projections, no biases, given and
    fresh states."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([
            nn.GRU(16, 16, num_layers=2, dropout=0.1),
            nn.GRU(16, 8, bidirectional=True, bias=False), nn.RNN(16, 16),
            nn.RNN(16, 16, nonlinearity="relu", bidirectional=False, num_layers=2),
            nn.LSTM(16, 8, bidirectional=True),
        ])
        self.projected = nn.LSTM(16, 16, proj_size=8)
        self.cells = nn.ModuleList([nn.GRUCell(16, 16), nn.RNNCell(16, 16)])
        self.lstm_cell = nn.LSTMCell(16, 16)
        self.first = nn.Parameter(torch.zeros(1, 1, 16))

    def forward(self, x):
        for layer in self.layers:
            x, _ = layer(x)
        x, _ = self.layers[2](x, self.first.expand(-1, x.size(1), -1).contiguous())
        projected, _ = self.projected(x)
        state = torch.zeros_like(x[0])
        memory = torch.zeros_like(x[0])
        for t in range(3):
            for cell in self.cells:
                state = cell(x[t], state)
            state, memory = self.lstm_cell(x[t], (state, memory))
        return x.pow(2).mean() + projected.pow(2).mean() + state.pow(2).mean()


def recurrent():
    return Recurrent(), (torch.randn(6, BATCH, 16),)


class TensorWork(nn.Module):
    """Indexing, sorting, scanning, reducing and linear algebra as models use them, in and out of
    place."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8, 8) * 0.1)

    def forward(self, x, index):
        w = self.weight
        y = x @ w
        rows = index[:, :4]
        ordered, order = y.sort(-1)
        best, where = y.max(-1)
        parts = [
            y.gather(1, rows), torch.zeros_like(y).scatter_add(1, index, y),
            y.scatter(1, rows, 0.5), y.index_fill(1, index[0, :2], 0.0),
            y.scatter_reduce(1, index, y, "amax"),
            torch.zeros_like(y).index_add_(0, index[:, 0], y), y.index_copy(0, index[0, :1], y[:1]),
            y.take_along_dim(rows, 1), y[index[:, 0]], y[:, index[0]], y[y.size(0) - 1],
            y.take(index), ordered, y.gather(1, order), best, y.gather(1, where[:, None]),
            y.min(0).values, y.amax(1), y.amin((0, 1)), y.median(1).values, y.kthvalue(2, 1).values,
            y.topk(3, -1).values, y.cumsum(1), y.logcumsumexp(1), y.cummax(1).values, y.flip(1),
            y.roll(1, 0), y.rot90(), y.sum((0, 1)), y.mean(0), y.std(1), y.var(),
            torch.var_mean(y, 1)[0], y.norm(), y.norm(dim=1), torch.linalg.vector_norm(y, 1, 0),
            y.norm(p=3, dim=0), y.logsumexp(1), y.nansum(1), torch.nanmean(y, 0),
            torch.linalg.matrix_norm(y), y.float().trace(), y.diagonal(), torch.diag_embed(y),
            y.tril(), y.triu(1), torch.einsum("ij,kj->ik", y, w), torch.outer(y[0], y[1]),
            torch.dot(y[0], y[1]), torch.addmm(y, y, w), torch.baddbmm(y[None], y[None], w[None]),
            torch.mv(w, y[0]), torch.kron(y[:2, :2], w[:2, :2]), F.pairwise_distance(y, x),
            torch.cdist(y.float(), x.float()), torch.pdist(y.float()), F.cosine_similarity(y, x),
            F.bilinear(y, x, w[None]), y.exp(), y.abs().log1p(), y.abs().add(1).log(),
            y.sin() * y.cos(), y.tanh().atanh(), torch.atan2(y, x), y.erf(), y.pow(2),
            (y * y + 1).pow(0.5), torch.pow(2.0, y), (y * y + 1).rsqrt(), (y * y + 1).reciprocal(),
            y.clamp(-1, 1), y.clamp_min(0), torch.clamp(y, x - 1, x + 1), torch.maximum(y, x),
            torch.fmin(y, x), torch.lerp(y, x, 0.3), torch.addcmul(y, x, y, value=0.5),
            torch.addcdiv(y, x, y * y + 1), y.fmod(2.0), y.remainder(3.0), torch.where(y > 0, y, x),
            torch.where(y > 0, y, 0.0), y.masked_fill(x > 0, 0.0), y.nan_to_num(), y.sign() * y,
            y.floor() + y.round(), y.sigmoid().logit(), torch.logaddexp(y, x), torch.hypot(y, x),
            y.expm1(), y.sinh(), torch.xlogy(y.abs() + 1, x.abs() + 1),
            torch.special.erfinv(y.tanh() * 0.5), torch.lgamma(y * y + 1), torch.copysign(y, x),
            y.deg2rad(), 1 - y, 2 / (y * y + 1), y.detach() // 2 + y, y.square(),
            y.softmax(-1).log(), torch.cat([y, x], 1), torch.stack([y, x]), *y.split(3, 1),
            *y.chunk(2), *y.unbind(0), y.repeat(2, 3), y.repeat_interleave(2, 1),
            y.expand(3, -1, -1), y.unfold(1, 3, 2), y.as_strided((3, 2), (2, 1)), y.t().reshape(-1),
            y.view(2, -1), y.T.contiguous(), y.movedim(0, 1), y.swapaxes(0, 1), F.pad(y, (1, 2)),
            F.pad(y[None], (1, 1), "reflect"), one_hot(index, 8).to(y.dtype) * y[..., None],
            F.embedding(index, w), F.layer_norm(y, (8,)), torch.broadcast_to(y[:, :1], (8, 8)),
            torch.tensordot(y, w, 1), torch.matmul(y[None], w), torch.bmm(y[None], w[None]),
            F.linear(y[None], w), torch.meshgrid(y[0], y[1], indexing="ij")[0],
            torch.cross(y[:, :3], x[:, :3], dim=1),
            torch.histc(y.detach().float(), 4).sum() + y.sum(), F.dropout(y, 0.1),
            F.softmax(y.float(), -1).to(y.dtype), y.double().to(y.dtype), y.type_as(x),
            y.clone().detach() + y, torch.searchsorted(torch.linspace(-1, 1, 5), y.detach().float())
            .to(y.dtype) * y, torch.bucketize(y.detach().float(), torch.linspace(-1, 1, 5)) * y,
        ]
        z = y.clone()
        z[:, 1:3] *= 2
        z[index[:, 0]] = 1.0
        z[:, index[0, :2]] += y[:, :2]
        z.index_put_((index[:, 0], index[:, 1]), y[:, 0], accumulate=True)
        parts.append(z.add_(y, alpha=2).mul_(0.5).sub_(1).div_(3).addcmul_(y, x).lerp_(y, 0.1).t_()
                     .copy_(y).fill_diagonal_(0))
        return torch.stack([part.float().mean() for part in parts]).sum()


def tensor_work():
    return TensorWork(), (torch.randn(8, 8), torch.randint(8, (8, 8)))


class Signals(nn.Module):
    """Spectra and linear algebra in fp32 or better: Fourier transforms, factorisations, solves."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8, 8) * 0.1)

    def forward(self, x):
        y = (x @ self.weight).float()
        positive = y @ y.T + 8 * torch.eye(8)
        spectrum = torch.fft.rfft(y)
        parts = [
            torch.fft.irfft(spectrum * 2, n=8), spectrum.abs(), torch.fft.fft2(y).real,
            torch.fft.ifft(torch.fft.fft(y)).imag, torch.view_as_real(spectrum),
            torch.linalg.cholesky(positive), torch.linalg.inv(positive),
            torch.linalg.solve(positive, y), torch.linalg.det(positive),
            torch.linalg.slogdet(positive)[1], torch.linalg.eigh(positive)[0],
            torch.linalg.svdvals(positive), torch.linalg.qr(positive)[0],
            torch.linalg.matrix_power(y, 3), torch.logdet(positive),
            torch.cholesky_solve(y, positive),
            torch.linalg.solve_triangular(positive, y, upper=True),
            torch.linalg.svd(positive)[0].abs(), torch.linalg.pinv(positive),
        ]
        return torch.stack([part.mean() for part in parts]).sum()


def signals():
    return Signals(), (torch.randn(8, 8),)


MODELS = {
    "unet": unet,
    "recommendation": recommendation,
    "mixture-of-experts": mixture_of_experts,
    "recurrent": recurrent,
    "tensor-work": tensor_work,
    "one-hot": one_hot_labels,
    "value-dependent": value_dependent,
    "host-targets": host_targets,
    "signals": signals,
}
