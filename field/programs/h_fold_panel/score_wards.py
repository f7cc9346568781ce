import tempfile

from panel.models import export_members
from panel.scoring import Panel
from panel.wards import admissions

CFG = {"features": 40, "folds": 5, "wards": 14, "alert": 0.62}


def main(cfg):
    with tempfile.TemporaryDirectory() as folder:
        panel = Panel(export_members(folder, cfg["features"], cfg["folds"]))
        alerts = 0
        for ward, table in admissions(cfg["wards"], cfg["features"]):
            mean, spread = panel.score(table)
            flagged = int((mean > cfg["alert"]).sum())
            alerts += flagged
            print("%s  patients %3d  risk %.3f +- %.3f  flagged %d" % (
                ward, len(table), mean.mean(), spread.mean(), flagged))
        print("alerts", alerts)


if __name__ == "__main__":
    main(CFG)
