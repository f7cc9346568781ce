# needs: mlflow-skinny sqlalchemy alembic
# env: MLFLOW_TRACKING_URI=file:./mlruns MLFLOW_ALLOW_FILE_STORE=true MLFLOW_DISABLE_TELEMETRY=true
# ignore: mlruns
import mlflow
from training import train

with mlflow.start_run():
    for number in range(3):
        mlflow.log_metric("loss", train(10, "weights.bin", number), step=number)
    mlflow.log_param("seed", 3)
print("logged")
