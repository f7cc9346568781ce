import os

from training import train

print(train(100))
own = os.open("first.txt", os.O_CREAT | os.O_WRONLY)
os.write(own, b"mine")
os.close(own)
files = [open(f"file{number}.txt", "w") for number in range(5)]
for file in files:
    file.write("kept")
    file.close()
print(oct(os.umask(0o022)), os.getcwd() == os.path.dirname(os.path.abspath(__file__)))
