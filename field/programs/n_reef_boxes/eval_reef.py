# mAP for the reef detector (fish / coral / urchin), predictions come from the export of last week
import os
os.environ['TF_CPP_MIN_LOG_LEVEL'] = '2'
import time
import numpy as np
import tensorflow as tf

CLASSES = ['fish', 'coral', 'urchin']
IOU_T = 0.5
np.random.seed(8)


def fake_image(n_gt):
    xy = np.random.uniform(0, 400, (n_gt, 2))
    wh = np.random.uniform(30, 90, (n_gt, 2))
    gt = np.concatenate([xy, xy + wh], 1)
    cls = np.random.randint(0, 3, n_gt)
    keep = np.random.rand(n_gt) < 0.85
    det = gt[keep] + np.random.normal(0, 6, (keep.sum(), 4))
    dcls = cls[keep]
    n_fp = 4
    fxy = np.random.uniform(0, 400, (n_fp, 2))
    fp = np.concatenate([fxy, fxy + np.random.uniform(30, 90, (n_fp, 2))], 1)
    boxes = np.concatenate([det, fp])
    classes = np.concatenate([dcls, np.random.randint(0, 3, n_fp)])
    scores = np.concatenate([np.random.uniform(.4, 1, len(det)), np.random.uniform(.05, .6, n_fp)])
    return (gt.astype('float32'), cls.astype('int32'),
            boxes.astype('float32'), classes.astype('int32'), scores.astype('float32'))


def iou(a, b):
    x1 = tf.maximum(a[0], b[0])
    y1 = tf.maximum(a[1], b[1])
    x2 = tf.minimum(a[2], b[2])
    y2 = tf.minimum(a[3], b[3])
    inter = tf.maximum(x2 - x1, 0.) * tf.maximum(y2 - y1, 0.)
    area_a = (a[2] - a[0]) * (a[3] - a[1])
    area_b = (b[2] - b[0]) * (b[3] - b[1])
    return inter / (area_a + area_b - inter)


def match(gt, gt_cls, boxes, classes, scores):
    """greedy matching, best score first -> list of (class, score, is_tp)"""
    gt = tf.constant(gt)
    boxes = tf.constant(boxes)
    order = tf.argsort(scores, direction='DESCENDING').numpy()
    used = set()
    out = []
    for d in order:
        best, best_j = 0., -1
        for j in range(gt.shape[0]):
            if gt_cls[j] != classes[d] or j in used:
                continue
            v = iou(boxes[d], gt[j])
            if v > best:
                best, best_j = v, j
        tp = bool(best >= IOU_T)
        if tp:
            used.add(best_j)
        out.append((int(classes[d]), float(scores[d]), tp))
    return out


def average_precision(rows, n_gt):
    rows = sorted(rows, key=lambda r: -r[1])
    tp = np.cumsum([r[2] for r in rows])
    fp = np.cumsum([not r[2] for r in rows])
    rec = tp / max(n_gt, 1)
    prec = tp / np.maximum(tp + fp, 1)
    prec = np.maximum.accumulate(prec[::-1])[::-1]
    rec = np.concatenate([[0], rec])
    return float(np.sum(np.diff(rec) * prec))


def nms(boxes, classes, scores):
    shift = classes.astype('float32')[:, None] * 1000.
    keep = tf.image.non_max_suppression(boxes + shift, scores, 100, 0.7).numpy()
    return boxes[keep], classes[keep], scores[keep]


images = [fake_image(np.random.randint(8, 20)) for _ in range(120)]
print(len(images), 'images,', sum(len(i[0]) for i in images), 'ground truth boxes')

t0 = time.time()
rows = []
n_gt = np.zeros(3, int)
for k, (gt, gt_cls, boxes, classes, scores) in enumerate(images):
    boxes, classes, scores = nms(boxes, classes, scores)
    rows += match(gt, gt_cls, boxes, classes, scores)
    n_gt += np.bincount(gt_cls, minlength=3)
    if k % 30 == 29:
        print('  %d images, %d detections so far' % (k + 1, len(rows)))

aps = []
for c, name in enumerate(CLASSES):
    ap = average_precision([r for r in rows if r[0] == c], n_gt[c])
    aps.append(ap)
    print('AP@%.2f %-7s %.4f  (%d boxes)' % (IOU_T, name, ap, n_gt[c]))
print('mAP %.4f   evaluation took %.1fs' % (np.mean(aps), time.time() - t0))
