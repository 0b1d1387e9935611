# Lightning saves a checkpoint at SIGUSR1, calls scontrol requeue, and goes on from the checkpoint when the job runs again.
import os
import socket
import time

import pytorch_lightning as pl
import torch

again = os.environ.get("SLURM_RESTART_COUNT") == "1"


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def training_step(self, batch, _):
        if not again:
            time.sleep(1)
        return self.layer(batch).sum()

    def on_train_start(self):
        self.first = self.trainer.global_step

    def on_train_end(self):
        total = self.trainer.strategy.reduce(torch.ones(1) * (self.global_rank + 1), reduce_op="sum")
        if again and self.first > 0:
            print(f"rank {self.global_rank} of {self.trainer.world_size} on {socket.gethostname()}: sum {int(total.item())}", flush=True)

    def train_dataloader(self):
        return torch.utils.data.DataLoader(torch.ones(2000, 8), batch_size=1)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


pl.Trainer(accelerator="cpu", devices=2, num_nodes=2, strategy="ddp", max_steps=200, logger=False, enable_progress_bar=False,
           enable_model_summary=False).fit(Model())
