# input: Ada\n12\nrest of it
import sys

from training import train

name = input("name? ")
print("hello", name, train(int(input("steps? "))))
print(sys.stdin.read())
try:
    input()
except EOFError:
    print("no more")
