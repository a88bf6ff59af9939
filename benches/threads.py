# Threads of CPython that compute, and take turns by the interpreter's lock: what each did when depends on who had it.
import threading, queue

lock, work, told = threading.Lock(), queue.Queue(), []

def computes(me):
    for turn in range(150):
        total = sum(i * i % 7 for i in range(20000))
        with lock:
            told.append((me, turn, total))

def takes(me):
    while (block := work.get()) is not None:
        told.append((me, block, sum(i % 7 for i in range(block * 10))))

threads = [threading.Thread(target=computes, args=(i,)) for i in range(2)]
threads += [threading.Thread(target=takes, args=(i,)) for i in range(2, 4)]
for thread in threads:
    thread.start()
for block in range(1000):
    work.put(block)
work.put(None)
work.put(None)
for thread in threads:
    thread.join()
print(told)
