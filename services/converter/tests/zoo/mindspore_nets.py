"""Networks of MindSpore; imported in the environment `mindspore` only."""

from mindspore import nn


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.SequentialCell(
            nn.Conv2d(3, 8, 3, pad_mode="pad", padding=1, has_bias=True),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2, 2),
        )
        self.head = nn.Dense(8 * 8 * 8, 4)

    def construct(self, image):
        found = self.layers(image)
        return self.head(found.reshape((found.shape[0], -1)))


class Recurrent(nn.Cell):
    """Its first state is written as a constant as large as the batch."""

    def __init__(self):
        super().__init__()
        self.cell = nn.LSTM(5, 6, batch_first=True)

    def construct(self, x):
        return self.cell(x)[0]
