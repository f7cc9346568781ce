# run: {python} -m pdb debugger.py
# input: b debugger.py:12\nc\np value\nn\nwhere\nc\nq\n
from training import train


def main():
    """Stops at a line."""
    value = train(10)
    print("trained")
    value += 1

    print(value)
    return value


main()
