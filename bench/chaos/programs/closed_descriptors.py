import os
import socket

from training import Training

training = Training()
training.train(30)
# As old recipes for daemons do; what is opened next gets the numbers of what was closed.
os.closerange(3, 1024)
files = [os.open(f"own{number}.txt", os.O_CREAT | os.O_WRONLY, 0o600) for number in range(40)]
left, right = socket.socketpair()
loss = training.train(400)
for number, file in enumerate(files):
    os.write(file, b"%d" % number)
    os.close(file)
left.sendall(b"over")
right.settimeout(5)
print(loss, right.recv(100))
training.keep()
