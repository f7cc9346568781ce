# run: {python} -m pytest -q -p no:cacheprovider -p no:randomly -p no:unslow --no-header -o addopts= test_under_pytest.py
# mask: in \d+\.\d+s( \([\d:]+\))?
# exit: 1
from training import train


def test_passes(tmp_path, capsys):
    print(train(10, "weights.bin"))
    assert "e-" in capsys.readouterr().out or True


def test_fails():
    loss = train(5, "other.bin")
    assert loss < 0, "a failing test"
