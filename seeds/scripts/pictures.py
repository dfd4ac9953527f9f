"""Networks from pictures to pictures: U-Net, style transfer, super-resolution, a variational autoencoder."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from . import images, untrained
from .seed import Input, Seed

_BRIGHTNESS = "brightness of each pixel in each channel"


class UNet(nn.Module):
    """Ronneberger et al. 2015, figure 1, with three levels, padded convolutions and 6 to 24 channels."""

    def __init__(self) -> None:
        super().__init__()
        widths = (6, 12, 24)
        self.down = nn.ModuleList(self.double(b, a) for b, a in zip((3, *widths), widths, strict=False))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, 2) for w in (12, 6))
        self.after = nn.ModuleList(self.double(2 * w, w) for w in (12, 6))
        self.head = nn.Conv2d(6, 4, 1)

    def double(self, before: int, after: int) -> nn.Sequential:
        """Two convolutions with ReLU."""
        first, second = nn.Conv2d(before, after, 3, 1, 1), nn.Conv2d(after, after, 3, 1, 1)
        return nn.Sequential(first, nn.ReLU(), second, nn.ReLU())

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """float32[N, 3, 32, 32] -> scores of 4 classes for each pixel, float32[N, 4, 32, 32]."""
        passed: list[torch.Tensor] = []
        x = image
        for index, layer in enumerate(self.down):
            x = layer(nn.functional.max_pool2d(x, 2) if index else x)
            passed.append(x)
        for up, after, skipped in zip(self.up, self.after, reversed(passed[:-1]), strict=True):
            x = after(torch.cat([skipped, up(x)], 1))
        return self.head(x)


class Residual(nn.Module):
    """Two convolutions with instance normalisation after reflected borders (Johnson et al. 2016, supplement)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(width, width, 3), nn.Conv2d(width, width, 3)
        self.norm1, self.norm2 = nn.InstanceNorm2d(width, affine=True), nn.InstanceNorm2d(width, affine=True)
        self.pad = nn.ReflectionPad2d(1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """float32[N, width, H, W] -> the same shape."""
        y = torch.relu(self.norm1(self.conv1(self.pad(x))))
        return x + self.norm2(self.conv2(self.pad(y)))


class StyleTransfer(nn.Module):
    """Johnson et al. 2016, with nearest upsampling before convolutions (Odena et al. 2016), a quarter as wide."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(
            nn.ReflectionPad2d(4), nn.Conv2d(3, 8, 9), nn.InstanceNorm2d(8, affine=True), nn.ReLU(),
            nn.ReflectionPad2d(1), nn.Conv2d(8, 16, 3, 2), nn.InstanceNorm2d(16, affine=True), nn.ReLU(),
        )  # fmt: skip
        self.blocks = nn.Sequential(Residual(16), Residual(16), Residual(16))
        self.up = nn.Sequential(
            nn.Upsample(scale_factor=2, mode="nearest"), nn.ReflectionPad2d(1), nn.Conv2d(16, 8, 3),
            nn.InstanceNorm2d(8, affine=True), nn.ReLU(), nn.ReplicationPad2d(4), nn.Conv2d(8, 3, 9),
        )  # fmt: skip

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """float32[N, 3, 32, 32] -> a picture of the same shape in [-1, 1]."""
        return torch.tanh(self.up(self.blocks(self.down(image))))


class SuperResolution(nn.Module):
    """Shi et al. 2016, section 3, three convolutions and a pixel shuffle, added to a cubic enlargement."""

    def __init__(self, factor: int = 3) -> None:
        super().__init__()
        self.factor = factor
        self.conv1, self.conv2 = nn.Conv2d(1, 32, 5, 1, 2), nn.Conv2d(32, 16, 3, 1, 1)
        self.conv3 = nn.Conv2d(16, factor * factor, 3, 1, 1)
        self.slope = nn.PReLU(32)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """float32[N, 1, H, W] -> float32[N, 1, 3H, 3W]."""
        x = torch.tanh(self.conv2(self.slope(self.conv1(image))))
        shuffled = nn.functional.pixel_shuffle(self.conv3(x), self.factor)
        return shuffled + nn.functional.interpolate(
            image, scale_factor=self.factor, mode="bicubic", align_corners=False
        )


class VariationalAutoencoder(nn.Module):
    """Kingma and Welling 2014, appendix C, with strided and transposed convolutions; the noise is an input."""

    def __init__(self, latent: int = 8) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 8, 3, 2, 1), nn.LeakyReLU(0.1), nn.Conv2d(8, 16, 3, 2, 1), nn.LeakyReLU(0.1), nn.Flatten()
        )
        self.mean, self.log_variance = nn.Linear(256, latent), nn.Linear(256, latent)
        self.start = nn.Linear(latent, 256)
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.BatchNorm2d(8), nn.ReLU(),
            nn.ConvTranspose2d(8, 8, 3, 2, 1, output_padding=1), nn.ELU(), nn.ConvTranspose2d(8, 1, 3, 1, 1),
        )  # fmt: skip

    def forward(self, image: torch.Tensor, noise: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """float32[N, 1, 16, 16] and float32[N, 8] -> the picture again and each one's divergence, float32[N]."""
        x = self.encoder(image)
        mean, log_variance = self.mean(x), self.log_variance(x)
        latent = mean + torch.exp(0.5 * log_variance) * noise
        divergence = -0.5 * (1 + log_variance - mean.pow(2) - log_variance.exp()).sum(1)
        again = torch.sigmoid(self.decoder(torch.relu(self.start(latent)).view(-1, 16, 4, 4)))
        return again, divergence + (again - image).abs().amax((1, 2, 3))


def unet() -> Seed:
    return untrained.from_torch(
        "unet",
        "U-Net: contracting and expanding convolutions with skips by Concat, ConvTranspose",
        "Ronneberger, Fischer, Brox: U-Net: Convolutional Networks for Biomedical Image Segmentation, 2015, figure 1",
        UNet(),
        {"image": images.gratings(6, (3, 32, 32), 10)},
        [Input("image", 0.0, 1.0, _BRIGHTNESS)],
        {"classes": "score of each class at each pixel"},
        kept=2,
        seed=10,
    )


def style() -> Seed:
    return untrained.from_torch(
        "style",
        "Style transfer: reflected borders, InstanceNormalization, residual blocks, nearest enlargement",
        "Johnson, Alahi, Fei-Fei: Perceptual Losses for Real-Time Style Transfer and Super-Resolution, 2016",
        StyleTransfer(),
        {"image": images.gratings(6, (3, 32, 32), 11)},
        [Input("image", 0.0, 1.0, _BRIGHTNESS)],
        {"picture": "the picture in the style that the weights hold, -1 to 1"},
        kept=2,
        seed=11,
    )


def superresolution() -> Seed:
    return untrained.from_torch(
        "superresolution",
        "Super-resolution: sub-pixel convolution by DepthToSpace, cubic Resize, named sizes",
        "Shi et al.: Real-Time Single Image and Video Super-Resolution Using an Efficient Sub-Pixel CNN, 2016",
        SuperResolution(),
        {"image": images.gratings(6, (1, 12, 16), 12)},
        [Input("image", 0.0, 1.0, "brightness")],
        {"large": "the picture in three times the size"},
        named={"image": ["batch", None, "height", "width"], "large": ["batch", None, "rows", "columns"]},
        seed=12,
    )


def vae() -> Seed:
    noise = np.random.default_rng(13).standard_normal((6, 1, 8)).astype(np.float32)
    return untrained.from_torch(
        "vae",
        "Variational autoencoder: strided convolutions, exponential of a variance, ConvTranspose, two outputs",
        "Kingma, Welling: Auto-Encoding Variational Bayes, 2014, appendix C",
        VariationalAutoencoder(),
        {"image": images.gratings(6, (1, 16, 16), 13), "noise": noise},
        [Input("image", 0.0, 1.0, "brightness"), Input("noise", -4.0, 4.0, "normal noise of the latent code")],
        {"again": "the picture from its code", "loss": "divergence from the prior and largest difference"},
        seed=13,
    )
