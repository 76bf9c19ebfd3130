"""The training of steps 2 and 3: for so many seconds, then how well the encoder agrees."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator

import numpy as np
from batches import Pairs, agreement
from encoder import Optimiser, embed_all
from torch import Tensor, nn
from transformers import BertModel

TOLD_EVERY = 200  # steps

log = logging.getLogger(__name__)


def train_for(
    model: nn.Module,
    seconds: float,
    rate: float,
    batches: Iterator[np.ndarray],
    loss_of: Callable[[np.ndarray], Tensor],
) -> int:
    """Train until the time is over; how many steps that were."""
    optimiser = Optimiser(model, rate)
    begun = time.monotonic()
    step = 0
    while (progress := (time.monotonic() - begun) / seconds) < 1:
        loss = loss_of(next(batches))
        optimiser.step(loss, progress)
        step += 1
        if step % TOLD_EVERY == 0:
            log.info("step %d, %.0f%%, loss %.4f", step, 100 * progress, loss.item())
    return step


def encoded(model: BertModel, pairs: Pairs, steps: int, device: str) -> np.ndarray:
    """The vectors of all documents; says how well they order the candidates of unseen queries."""
    documents = embed_all(model, pairs.texts.index, device).cpu().numpy()
    asked = embed_all(model, [pairs.texts.queries[query] for query in pairs.validation], device)
    agreed = agreement(pairs, documents, asked.cpu().numpy())
    log.info("%d steps, agreement with the teacher %.4f", steps, agreed)
    return documents
