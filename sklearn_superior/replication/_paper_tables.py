"""The two tables of results in the paper.

Rows give the means of the Brier score, its penalized form, the log loss and its
penalized form: the correlation with F1 on validation data, and F1 on test data in
percent. ES is early stopping, CP the checkpoint.
"""

# (data set, selection): Brier, penalized Brier, log loss, penalized log loss
CORRELATION = {
    ("walking_user_identification", "ES"): (0.957, 0.969, 0.837, 0.9),
    ("walking_user_identification", "CP"): (0.964, 0.98, 0.526, 0.64),
    ("wisdm_phone_accel", "ES"): (0.963, 0.983, 0.764, 0.845),
    ("wisdm_phone_accel", "CP"): (0.699, 0.926, 0.52, 0.589),
    ("healthy_older_people", "ES"): (0.721, 0.74, 0.731, 0.745),
    ("healthy_older_people", "CP"): (0.607, 0.748, 0.306, 0.508),
    ("person_activity_localization", "ES"): (0.69, 0.748, 0.567, 0.619),
    ("person_activity_localization", "CP"): (0.667, 0.674, 0.317, 0.378),
    ("motor_failure_time", "ES"): (0.717, 0.728, 0.275, 0.292),
    ("motor_failure_time", "CP"): (0.739, 0.74, 0.384, 0.425),
    ("tetouan_power", "ES"): (0.965, 0.987, 0.592, 0.664),
    ("tetouan_power", "CP"): (0.995, 0.997, 0.419, 0.446),
    ("beijing_air_quality", "ES"): (0.68, 0.899, 0.595, 0.777),
    ("beijing_air_quality", "CP"): (0.665, 0.813, 0.378, 0.802),
    ("ble_rssi", "ES"): (0.572, 0.597, 0.694, 0.724),
    ("ble_rssi", "CP"): (0.444, 0.704, 0.434, 0.498),
    ("driver_identification", "ES"): (0.874, 0.924, 0.45, 0.553),
    ("driver_identification", "CP"): (0.916, 0.953, 0.391, 0.629),
}
TEST_F1 = {
    ("walking_user_identification", "ES"): (45.0, 51.65, 64.76, 65.85),
    ("walking_user_identification", "CP"): (55.47, 60.03, 70.0, 71.82),
    ("wisdm_phone_accel", "ES"): (53.01, 57.6, 53.9, 55.48),
    ("wisdm_phone_accel", "CP"): (55.37, 58.03, 55.74, 57.63),
    ("healthy_older_people", "ES"): (28.24, 32.48, 30.08, 30.62),
    ("healthy_older_people", "CP"): (32.3, 34.28, 31.65, 31.8),
    ("person_activity_localization", "ES"): (58.27, 59.14, 56.79, 59.55),
    ("person_activity_localization", "CP"): (66.51, 67.49, 68.21, 69.78),
    ("motor_failure_time", "ES"): (43.66, 50.81, 51.12, 59.69),
    ("motor_failure_time", "CP"): (48.0, 54.83, 64.12, 66.82),
    ("tetouan_power", "ES"): (80.93, 83.2, 77.87, 80.13),
    ("tetouan_power", "CP"): (82.08, 83.88, 80.22, 83.42),
    ("beijing_air_quality", "ES"): (50.13, 53.51, 55.59, 56.33),
    ("beijing_air_quality", "CP"): (52.04, 53.63, 51.73, 52.39),
    ("ble_rssi", "ES"): (27.09, 27.77, 23.1, 23.75),
    ("ble_rssi", "CP"): (26.51, 29.37, 26.77, 27.39),
    ("driver_identification", "ES"): (66.5, 66.53, 65.39, 65.81),
    ("driver_identification", "CP"): (67.85, 68.36, 66.64, 67.07),
}
