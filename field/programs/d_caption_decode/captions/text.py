class Vocabulary:
    def __init__(self, size):
        self.words = ["<pad>", "<s>", "</s>"] + [f"w{i}" for i in range(size - 3)]

    def sentence(self, ids):
        words = []
        for i in ids:
            if i == 2:
                break
            words.append(self.words[i])
        return " ".join(words)
