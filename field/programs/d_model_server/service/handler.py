import json

import tensorflow as tf


class RankHandler:
    def __init__(self, model_dir, top=5):
        self.model_dir = model_dir
        self.top = top
        self.served = 0

    def load(self):
        return tf.saved_model.load(self.model_dir)

    def handle(self, body):
        request = json.loads(body)
        rank = self.load().signatures["rank"]
        answer = rank(user=tf.constant(request["user"]), items=tf.constant(request["candidates"]))
        self.served += 1
        return json.dumps({
            "user": request["user"],
            "items": answer["items"][: self.top].numpy().tolist(),
            "scores": [round(float(s), 4) for s in answer["scores"][: self.top].numpy()],
        })
