import argparse
import json

from hull import fitting, settings


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--set", default="{}", help="settings as JSON")
    args = parser.parse_args()
    history = fitting.run(settings.merge(json.loads(args.set)))
    print("best held-out iou", round(max(history["val_iou"]), 4))


if __name__ == "__main__":
    main()
