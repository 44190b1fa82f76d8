"""Whole models, made of torch alone: the same bits as on torch's own trees, and close to eager, in
inference and in training, while outputs are held and dropped."""

import unittest

import torch
from gpu_case import fast
from torch import nn
from torch.nn import functional as f

import graphtree.torch


class Attention(nn.Module):
    """Decoding over a cache of keys and values."""

    def __init__(self, width=64, heads=4, most=32):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("keys", torch.zeros(2, heads, most, width // heads))
        self.register_buffer("values", torch.zeros(2, heads, most, width // heads))

    def forward(self, x, place):
        q, k, v = (t.view(2, 1, self.heads, -1).transpose(1, 2)
                   for t in self.qkv(x).chunk(3, -1))
        self.keys.index_copy_(2, place, k)
        self.values.index_copy_(2, place, v)
        seen = (torch.arange(self.keys.shape[2], device=x.device) <= place)[None, None, None]
        mixed = f.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=seen)
        return x + self.out(mixed.transpose(1, 2).reshape(2, 1, -1))


class Decoder(nn.Module):
    """A transformer of two layers."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 64)
        self.attention = nn.ModuleList(Attention() for _ in range(2))
        self.mlp = nn.ModuleList(nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 128), nn.GELU(),
                                               nn.Linear(128, 64)) for _ in range(2))

    def forward(self, tokens, place):
        x = self.embed(tokens)
        for attention, mlp in zip(self.attention, self.mlp):
            x = attention(x, place)
            x = x + mlp(x)
        return x @ self.embed.weight.t()


class Residual(nn.Module):
    """Convolutions with normalisation, and a shortcut."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.blocks = nn.ModuleList(nn.Sequential(
            nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()) for _ in range(2))
        self.last = nn.Linear(16, 10)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = x + block(x)
        return self.last(x.mean((2, 3)))


class Lora(nn.Module):
    """Adapters that are chosen while it runs."""

    def __init__(self, adapters=4):
        super().__init__()
        self.base = nn.Linear(64, 64)
        self.down = nn.Parameter(torch.randn(adapters, 64, 8) * 0.1)
        self.up = nn.Parameter(torch.randn(adapters, 8, 64) * 0.1)

    def forward(self, x, which):
        return self.base(x) + torch.bmm(torch.bmm(x[:, None], self.down[which]),
                                        self.up[which])[:, 0]


class Experts(nn.Module):
    """A mixture of experts, each of which sees all tokens."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(32, 4)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(32, 64), nn.SiLU(),
                                                   nn.Linear(64, 32)) for _ in range(4))

    def forward(self, x):
        weights, best = self.gate(x).softmax(-1).topk(2, -1)
        shares = torch.zeros(x.shape[0], 4, device=x.device, dtype=x.dtype).scatter(1, best,
                                                                                  weights)
        return sum(shares[:, i:i + 1] * expert(x) for i, expert in enumerate(self.experts))


class Recurrent(nn.Module):
    """An LSTM's cell, in a loop."""

    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.LSTMCell(16, 32), nn.Linear(32, 4)

    def forward(self, x):
        h = c = torch.zeros(x.shape[0], 32, device=x.device)
        for i in range(x.shape[1]):
            h, c = self.cell(x[:, i], (h, c))
        return self.out(h)


def randn(*sizes):
    """On the GPU."""
    return torch.randn(*sizes, device="cuda")


MODELS = {
    "decoder": (Decoder, lambda i: (torch.full((2, 1), 7 * i % 100, device="cuda"),
                                    torch.full((1,), i, device="cuda"))),
    "residual": (Residual, lambda i: (randn(4, 3, 16, 16),)),
    "lora": (Lora, lambda i: (randn(4, 64), torch.arange(4, device="cuda").roll(i))),
    "experts": (Experts, lambda i: (randn(8, 32),)),
    "recurrent": (Recurrent, lambda i: (randn(4, 6, 16),)),
}
STEPS = 6


def infer(make, inputs, compiled):
    """Outputs of some steps."""
    torch.manual_seed(3)
    model = make().cuda().eval()
    run = fast(model) if compiled else model
    with torch.no_grad():
        return [run(*inputs(i)).clone() for i in range(STEPS)]


def train(make, inputs, compiled):
    """Losses and weights of some steps."""
    torch.manual_seed(3)
    model = make().cuda().train()
    run = fast(model) if compiled else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    losses = []
    for i in range(STEPS):
        optimizer.zero_grad(set_to_none=True)
        loss = run(*inputs(i)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach().clone())
    return losses + [p.detach().clone() for p in model.parameters()]


class ModelsTest(unittest.TestCase):
    """Each model in turn on eager torch, torch's trees, and ours."""

    def compare(self, how, name):
        make, inputs = MODELS[name]
        torch._dynamo.reset()
        torch.manual_seed(9)
        eager = how(make, inputs, False)
        torch.manual_seed(9)
        theirs = how(make, inputs, True)
        torch._dynamo.reset()
        with graphtree.torch.scope():
            torch.manual_seed(9)
            ours = how(make, inputs, True)
            trees = graphtree.torch.stats()
            said = graphtree.torch.explain()
        torch._dynamo.reset()
        self.assertGreater(sum(tree["tree"]["replays"] for tree in trees), 0, said)
        for one, other, plain in zip(ours, theirs, eager):
            self.assertTrue(torch.equal(one, other), name)
            torch.testing.assert_close(one, plain, atol=3e-2, rtol=3e-2)


def _add(how, name):
    setattr(ModelsTest, "test_%s_%s" % (how.__name__, name),
            lambda self: self.compare(how, name))


for _name in MODELS:
    _add(infer, _name)
    if _name != "decoder":  # it writes to its cache, which has no gradient
        _add(train, _name)


if __name__ == "__main__":
    unittest.main()
