"""Which test covers which fault that was reported of other converters: one row, where, what went wrong, the tests here.

A test of a table is named with its row, `test_name[row]`. `open` says in words what of a row the converter does not have yet;
a row without tests is open as a whole. A row whose test is renamed or goes away fails here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2] / "services" / "converter" / "tests"
EQUAL = "test_equal_at_every_batch_size"
FRAMEWORKS = "test_a_model_becomes_equal_onnx"
UNKNOWN = "test_24_and_27_an_operator_that_is_unknown_is_named"
OPERATOR = "test_44_what_other_writers_lack_has_equal_numbers"


@dataclass(frozen=True, slots=True)
class Row:
    reports: str
    what: str
    tests: tuple[str, ...] = ()
    open: str = ""


LAYOUT = "test_46_49_and_50_layouts_are_turned_right"
TARGET = "test_a_model_written_and_read_again_is_equal_at_every_batch_size[saved-model]"

ROWS: dict[int, Row] = {
    1: Row(
        "pytorch#157621", "the example's batch is burnt in", (f"{EQUAL}[Residual]", "test_fixed_dimensions_stay_fixed")
    ),
    2: Row(
        "pytorch#148886",
        "a mask built at the example's batch",
        (f"{EQUAL}[Masked]", "test_a_model_that_is_right_for_one_batch_alone_is_refused"),
    ),
    3: Row("pytorch#70110", "the width of an embedding becomes free", ("test_fixed_dimensions_stay_fixed",)),
    4: Row("pytorch#45653", "an LSTM that runs at one batch", (f"{EQUAL}[lstm]",)),
    5: Row(
        "onnxscript#2852", "a GRU reset the other way", (f"{EQUAL}[gru]", "test_5_a_gru_is_reset_as_torch_resets_it")
    ),
    6: Row("onnxscript#2891", "channels of PixelUnshuffle in another order", (f"{EQUAL}[unshuffle]",)),
    7: Row(
        "pytorch#61034, pytorch#111159",
        "repeated indices: the last wins",
        (f"{EQUAL}[Repeated]", "test_what_an_exporter_gets_wrong_does_not_pass"),
    ),
    8: Row("pytorch#159973", "attention with a row that is masked", (f"{EQUAL}[Attention]",)),
    9: Row("pytorch#183528, pytorch#131272", "average pooling that rounds up", (f"{EQUAL}[Pooled]",)),
    10: Row("pytorch#42653", "adaptive pooling that does not divide", (f"{EQUAL}[Adaptive]",)),
    11: Row(
        "pytorch#49229, onnxruntime#26584, onnxruntime#4589",
        "batch normalisation in training mode",
        (
            f"{EQUAL}[BatchStatistics]",
            f"{EQUAL}[InTraining]",
            "test_dropout_is_off_after_export_in_training_mode",
            "test_11_rows_that_change_each_other_are_served_one_by_one",
            "test_11_what_is_still_in_training_is_refused",
        ),
    ),
    12: Row("pytorch#118733", "a branch in float64", (f"{EQUAL}[Doubles]",)),
    13: Row(
        "onnxruntime#2874, onnxruntime#19710",
        "float64 operators that the runtime lacks",
        ("test_13_float64_stays_float64",),
        "the runtime has these by now; for one that it lacks there is a refusal and no cast",
    ),
    14: Row("pytorch#64480", "an unused input disappears", ("test_14_an_input_that_nothing_reads_is_told",)),
    15: Row(
        "pytorch#66137",
        "the same tensor returned twice",
        ("test_the_same_tensor_twice_has_two_names", "test_15_the_same_tensor_twice_is_served_twice"),
    ),
    16: Row(
        "pytorch#117655",
        "control flow on the batch",
        ("test_16_a_branch_on_the_batch_stays_a_branch", "test_what_cannot_be_traced_is_refused_with_its_place"),
    ),
    17: Row(
        "pytorch#107677",
        "complex numbers",
        (
            f"{EQUAL}[Spectrum]",
            "test_17_complex_numbers_inside_are_pairs_of_real_ones",
            "test_an_operator_that_the_older_exporter_lacks_is_named",
        ),
    ),
    18: Row("pytorch#108342", "tied weights stored twice", ("test_tied_weights_are_stored_once",)),
    19: Row(
        "onnxruntime#23112, onnx#3805",
        "an opset that the runtime lacks",
        (
            "test_a_set_that_the_runtime_lacks_is_refused_not_stamped",
            "test_19_a_set_that_the_runtime_lacks_is_not_stamped_as_another",
            "test_19_an_old_set_is_taken_as_it_is",
            "test_19_a_set_that_the_runtime_takes_is_served_whatever_older_ones_take",
        ),
    ),
    20: Row(
        "onnxruntime#20559",
        "an IR version newer than the runtime's",
        ("test_20_a_newer_layout_is_written_as_the_runtime_knows_it", "test_limits_of_a_release"),
    ),
    21: Row(
        "tensorflow-onnx#1112",
        "a convolution on pictures of any size",
        (f"{FRAMEWORKS}[any_size.keras]", "test_21_and_28_pictures_of_three_sizes"),
    ),
    22: Row("tensorflow-onnx#1449", "max_pool_with_argmax", ("test_22_places_of_the_largest_are_those_of_nhwc",)),
    23: Row(
        "tensorflow-onnx#1871",
        "a masked embedding before an LSTM",
        (f"{FRAMEWORKS}[masked.keras]", "test_23_words_padded_on_either_side"),
    ),
    24: Row(
        "tensorflow-onnx#2100",
        "a table of strings",
        ("test_a_refusal_says_what_would_help[lookup]", f"{UNKNOWN}[table]"),
    ),
    25: Row("tensorflow-onnx#926", "several outputs in another order", ("test_outputs_bear_the_names_of_the_model",)),
    26: Row(
        "tensorflow-onnx#2348",
        "Keras 3, functional and subclassed",
        (f"{FRAMEWORKS}[two.keras]", "test_26_a_subclassed_model"),
    ),
    27: Row(
        "tensorflow-onnx#2107",
        "unknown operators left in the graph",
        (f"{UNKNOWN}[listed]", f"{UNKNOWN}[singular]", "test_27_what_is_unknown_inside_a_branch_is_named"),
    ),
    28: Row(
        "onnxruntime#6067",
        "a transposed convolution of any size",
        (f"{FRAMEWORKS}[any_size.keras]", "test_21_and_28_pictures_of_three_sizes"),
    ),
    29: Row(
        "Paddle2ONNX#1130",
        "pooling becomes global",
        (f"{FRAMEWORKS}[net.json]", "test_29_30_and_31_pooling_resizing_and_names"),
    ),
    30: Row("Paddle2ONNX#241", "resize with align_mode 1", ("test_29_30_and_31_pooling_resizing_and_names",)),
    31: Row("PaddleOCR#8437", "dimensions with inner names", ("test_29_30_and_31_pooling_resizing_and_names",)),
    32: Row(
        "Paddle2ONNX#832",
        "the saved model differs from the dynamic graph",
        ("test_32_a_layer_that_is_another_once_it_is_saved", "test_32_a_branch_on_the_data_stays_one"),
        "of an inference model alone the layer is not known",
    ),
    33: Row("jax2onnx#212", "reverse on a free axis", ("test_33_and_34_free_axes_of_jax[reverse]",)),
    34: Row("jax2onnx#168", "mean over free axes", ("test_33_and_34_free_axes_of_jax[mean]",)),
    35: Row(
        "keras#22443", "jax2tf does not know the new JAX", (f"{FRAMEWORKS}[net.msgpack]", f"{FRAMEWORKS}[bare.npz]")
    ),
    36: Row(
        "mxnet2onnx#4", "fix_gamma is passed over", (f"{FRAMEWORKS}[net-symbol.json]", "test_36_a_fixed_scale_is_one")
    ),
    37: Row("onnxmltools#771, onnxruntime#11892", "base_score is passed over", (f"{FRAMEWORKS}[two]",)),
    38: Row(
        "sklearn-onnx#1253",
        "missing values go the other way",
        (
            f"{FRAMEWORKS}[missing]",
            "test_what_is_no_number_has_no_part_in_the_range",
            "test_38_what_is_missing_goes_where_the_model_sends_it",
        ),
    ),
    39: Row(
        "sklearn-onnx#1192, onnxruntime#4130",
        "thresholds in float32 flip a path",
        ("test_39_rows_at_a_threshold_take_their_path",),
    ),
    40: Row("onnxmltools#309", "categorical splits of LightGBM", ("test_40_categories_are_no_order",)),
    41: Row("sklearn-onnx#1117", "AdaBoost of two classes", (f"{FRAMEWORKS}[adaboost]",)),
    42: Row(
        "onnxruntime_backend#94",
        "a list of maps as an output",
        (f"{FRAMEWORKS}[logistic]", "test_42_a_list_of_maps_is_no_output"),
    ),
    43: Row("onnx2torch#192, onnx2torch#152, onnx2torch#241", "old opsets", ("test_old_batch_norm_dropout_and_slice",)),
    44: Row(
        "onnx2torch",
        "operators that are missing",
        (
            *(f"{OPERATOR}[{name}]" for name in ("LSTM", "GRU", "OneHot", "ScatterElements", "ScatterND", "QDQ")),
            *(
                f"{OPERATOR}[{name}]"
                for name in ("Resize", "Reduce", "GlobalMaxPool", "reflecting Pad", "Loop", "Scan")
            ),
            "test_every_blocking_node_is_named_at_once",
        ),
    ),
    45: Row("onnx2torch#113", "a Reshape that fixes the batch", ("test_the_batch_stays_free",)),
    46: Row("onnx2tf#478", "equal axes transposed wrong", (f"{OPERATOR}[axes that are equal]", TARGET, LAYOUT)),
    47: Row(
        "onnx2tf#650",
        "inputs and outputs swapped",
        ("test_47_inputs_and_outputs_keep_their_names_and_their_order", TARGET),
    ),
    48: Row("onnx2tf#441", "a free batch becomes 1", ("test_the_batch_stays_free", TARGET)),
    49: Row("MMdnn#595", "flatten after an NHWC convolution", (f"{OPERATOR}[a Reshape that flattens NHWC]", LAYOUT)),
    50: Row("MMdnn#379, MMdnn#628", "padding to the same size", (f"{OPERATOR}[padding to the same size]", LAYOUT)),
    51: Row(
        "keras#10279",
        "preprocessing is lost",
        (
            "test_51_the_mean_is_that_of_the_models_channels_after_the_swap",
            "test_51_pictures_of_any_size_are_served_as_pillow_prepares_them",
            "test_51_a_mean_that_is_subtracted_in_the_wrong_order_is_refused",
            "test_51_what_is_served_takes_bytes_and_the_model_stays_as_it_was",
            "test_51_outputs_are_served_as_the_block_says",
            "test_51_a_table_is_served_as_it_was_measured",
            "test_51_a_graph_that_does_something_else_is_refused",
            "test_51_other_formats_finish_outputs_as_well",
        ),
        "what is done to words or sound before does not travel",
    ),
    52: Row(
        "onnxsim#265, onnxsim#227", "an optimiser changes results", ("test_52_what_an_optimiser_breaks_is_taken_back",)
    ),
    53: Row(
        "onnxconverter-common#323",
        "a mean overflows in float16",
        ("test_53_what_overflows_in_half_precision_stays_as_it_was",),
    ),
    54: Row("onnxruntime#11415", "int8 costs accuracy", ("test_54_what_int8_costs_too_much_stays_as_it_was",)),
    55: Row(
        "onnxruntime#10514",
        "the largest of numbers with NaN among them",
        ("test_55_numbers_that_are_none_are_not_passed_over", "test_nan_and_infinity_stand_where_they_should"),
    ),
    56: Row(
        "triton-inference-server/server#1889, #2387",
        "merged requests on a fixed batch",
        ("test_without_a_proven_batch_dims_are_the_whole_shape", "test_56_a_fixed_batch_is_not_merged"),
    ),
    57: Row(
        "triton-inference-server/server#7462",
        "an output without a free batch",
        (
            "test_without_a_proven_batch_dims_are_the_whole_shape",
            "test_57_an_output_without_a_batch_has_the_models_own_shape",
            "test_57_one_number_for_each_row_is_served_in_batches",
            "test_57_scalars_are_served_with_a_dimension_of_one",
        ),
    ),
    58: Row(
        "triton-inference-server/server#1055, #7355",
        "shapes of an ensemble",
        (
            "test_what_triton_would_refuse",
            "test_an_ensemble_is_written_whole_or_not_at_all",
            "test_an_ensemble_computes_its_steps",
        ),
        "a conversion writes none: preprocessing lies in the graph itself",
    ),
    59: Row(
        "triton-inference-server/server#5388",
        "weights beside the model are left behind",
        (
            "test_honest_weights_beside_a_model_are_taken_along",
            *(
                f"test_59_weights_that_do_not_fit_travel_beside_the_model[{name}]"
                for name in ("as exported", "optimised", "float16", "int8", "int8-dynamic", "pictures")
            ),
            "test_59_what_pytorch_exports_lies_beside_where_it_is_large",
            "test_59_a_module_of_pytorch_is_written_from_weights_beside_the_model",
            "test_59_a_copy_under_another_name_has_weights_of_that_name",
            "test_59_a_worker_cannot_have_another_file_read_as_weights",
            "test_59_a_model_above_2_gib_is_converted_and_served",
        ),
    ),
}


@pytest.fixture(scope="module")
def tests(tests_below: Callable[[Path], Iterator[tuple[str, Path]]]) -> dict[str, str]:
    """Every test of the converter, with the text of its file."""
    return {name: file.read_text() for name, file in tests_below(HOME)}


def test_no_row_is_left_out() -> None:
    assert list(ROWS) == list(range(1, 60))


@pytest.mark.parametrize("number", ROWS)
def test_every_row_has_its_tests_or_says_what_is_missing(number: int, tests: dict[str, str]) -> None:
    row = ROWS[number]
    assert row.tests or row.open, f"row {number} ({row.what}) has neither"
    for test in row.tests:
        name, _, entry = test.rstrip("]").partition("[")
        assert name in tests, f"row {number} ({row.what}): {name} is not there"
        assert f'"{entry}"' in tests[name] or not entry, f"row {number} ({row.what}): {name} has no {entry!r}"


def test_a_test_that_bears_a_rows_number_is_listed(tests: dict[str, str]) -> None:
    listed = {test.partition("[")[0] for row in ROWS.values() for test in row.tests}
    numbered = {name for name in tests if name.split("_")[1].isdigit()}
    assert numbered <= listed, sorted(numbered - listed)
