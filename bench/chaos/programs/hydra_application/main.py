# needs: hydra-core
# run: {python} main.py steps=12 hydra.run.dir=outputs hydra.job.chdir=True
# ignore: outputs/.hydra outputs/main.log
import os
import sys
from pathlib import Path

import hydra

sys.path.insert(0, str(Path(__file__).parent))


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(config):
    from training import train

    print(config.steps, train(config.steps), os.path.basename(os.getcwd()))


if __name__ == "__main__":
    main()
