"""A method of one's own in the study: an object with `fit` and `predict_interval`."""

import numpy as np
from sklearn.neighbors import KNeighborsRegressor

from paper import study


class Neighbours:
    """Quantiles of the 30 nearest rows."""

    def fit(self, X, y):
        self.y, self.model = y, KNeighborsRegressor(30).fit(X, y)

    def predict_interval(self, X):
        near = self.y[self.model.kneighbors(X, return_distance=False)]
        return np.quantile(near, [0.05, 0.95], axis=1)


if __name__ == "__main__":
    found = study(own={"Neighbours": Neighbours()}, methods=["CQR", "Ours (BD)"], quick=True)
    print(found["ranks"]["all"]["measures"]["score"]["mean_ranks"])
