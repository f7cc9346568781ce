# needs: wandb
# env: WANDB_MODE=offline WANDB_SILENT=true
# ignore: wandb
import wandb
from training import fit, keras_model, train

with wandb.init(project="chaos", settings=wandb.Settings(console="off")) as run:
    for number in range(3):
        run.log({"loss": train(10, "weights.bin", number)})
    fit(keras_model())
print("logged")
