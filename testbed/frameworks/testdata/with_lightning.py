import socket

import pytorch_lightning as pl
import torch
from pytorch_lightning.plugins.environments import SLURMEnvironment


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def training_step(self, batch, _):
        return self.layer(batch).sum()

    def train_dataloader(self):
        return torch.utils.data.DataLoader(torch.ones(32, 8), batch_size=2)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

    def on_train_end(self):
        assert isinstance(self.trainer.strategy.cluster_environment, SLURMEnvironment)
        total = self.trainer.strategy.reduce(torch.ones(1) * (self.global_rank + 1), reduce_op="sum")
        print(f"rank {self.global_rank} of {self.trainer.world_size} on {socket.gethostname()}: sum {int(total.item())}", flush=True)


pl.Trainer(accelerator="cpu", devices=2, num_nodes=2, strategy="ddp", max_steps=4, logger=False, enable_checkpointing=False,
           enable_progress_bar=False, enable_model_summary=False).fit(Model())
