# SPDX-License-Identifier: Apache-2.0
"""torch.utils.tensorboard: writes what a training run shows into event files that TensorBoard opens."""

import os
import socket
import time

from facula.utils.tensorboard import _graph, summary
from facula.utils.tensorboard._embedding import write_embedding, write_projector_config
from facula.utils.tensorboard._events import EventFile, message

__all__ = ["FileWriter", "SummaryWriter"]


class FileWriter:
    """Writes summaries into one event file of a folder."""

    def __init__(self, log_dir, max_queue=10, flush_secs=120, filename_suffix=""):
        self._folder = str(log_dir)
        self.event_writer = EventFile(self._folder, max_queue, flush_secs, filename_suffix)

    def get_logdir(self):
        return self._folder

    def add_summary(self, summary, global_step=None, walltime=None):
        self.event_writer.add(message(5, summary), None if global_step is None else int(global_step), walltime)

    def flush(self):
        self.event_writer.flush()

    def close(self):
        self.event_writer.close()


class SummaryWriter:
    """Writes the numbers, pictures and texts of a run into a folder, by default runs/<time>_<host><comment>."""

    def __init__(self, log_dir=None, comment="", purge_step=None, max_queue=10, flush_secs=120, filename_suffix=""):
        if not log_dir:
            log_dir = os.path.join("runs", time.strftime("%b%d_%H-%M-%S") + "_" + socket.gethostname() + comment)
        self.log_dir = str(log_dir)
        self.purge_step, self.max_queue, self.flush_secs, self.filename_suffix = purge_step, max_queue, flush_secs, filename_suffix
        self.file_writer = self.all_writers = None
        self._embeddings = []
        self._get_file_writer()

    def _get_file_writer(self):
        if self.file_writer is None:  # at first, and again after close
            self.file_writer = self._writer(self.log_dir)
            self.all_writers = {self.log_dir: self.file_writer}
            if self.purge_step is not None:  # what came later in an earlier run is to be forgotten
                self.file_writer.event_writer.add(message(7, b"\x08\x01"), int(self.purge_step))
                self.purge_step = None
        return self.file_writer

    def _writer(self, folder):
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def get_logdir(self):
        """The folder."""
        return self.log_dir

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, new_style=False, double_precision=False):
        """A number."""
        self._get_file_writer().add_summary(summary.scalar(tag, scalar_value, new_style=new_style, double_precision=double_precision), global_step, walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Several numbers in one chart: each goes into a folder of its own."""
        self._get_file_writer()
        for tag, value in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, main_tag.replace("/", "_") + "_" + tag)
            if folder not in self.all_writers:
                self.all_writers[folder] = self._writer(folder)
            self.all_writers[folder].add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_histogram(self, tag, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None):
        """A distribution."""
        self._get_file_writer().add_summary(summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(self, tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts, global_step=None, walltime=None):
        """A distribution whose buckets are counted already: their upper limits, and how many values are in each."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        made = summary.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._get_file_writer().add_summary(made, global_step, walltime)

    def add_tensor(self, tag, tensor, global_step=None, walltime=None):
        """A whole tensor."""
        self._get_file_writer().add_summary(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """A picture."""
        self._get_file_writer().add_summary(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """Several pictures, beside each other."""
        self._get_file_writer().add_summary(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_image_with_boxes(self, tag, img_tensor, box_tensor, global_step=None, walltime=None, rescale=1, dataformats="CHW", labels=None):
        """A picture with boxes drawn into it (left, top, right, bottom), and their labels. Needs the package pillow."""
        labels = [labels] if isinstance(labels, str) else labels
        if labels is not None and len(labels) != len(box_tensor):
            labels = None
        self._get_file_writer().add_summary(summary.image_boxes(tag, img_tensor, box_tensor, rescale, dataformats, labels), global_step, walltime)

    def add_video(self, tag, vid_tensor, global_step=None, fps=4, walltime=None):
        """Moving pictures (batch, time, channels, height, width). Needs the package pillow."""
        self._get_file_writer().add_summary(summary.video(tag, vid_tensor, fps), global_step, walltime)

    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None):
        """A figure of matplotlib, or a list of them."""
        import numpy
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        figures = figure if isinstance(figure, list) else [figure]
        pictures = []
        for f in figures:
            canvas = FigureCanvasAgg(f)
            canvas.draw()
            pictures.append(numpy.asarray(canvas.buffer_rgba())[:, :, :3])
            if close:
                import matplotlib.pyplot

                matplotlib.pyplot.close(f)
        self.add_images(tag, numpy.stack(pictures), global_step, walltime, dataformats="NHWC")

    def add_audio(self, tag, snd_tensor, global_step=None, sample_rate=44100, walltime=None):
        """Sound."""
        self._get_file_writer().add_summary(summary.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """Text in Markdown."""
        self._get_file_writer().add_summary(summary.text(tag, text_string), global_step, walltime)

    def add_pr_curve(self, tag, labels, predictions, global_step=None, num_thresholds=127, weights=None, walltime=None):
        """Precision and recall by threshold, of predictions from 0 to 1 and labels that are 0 or 1."""
        self._get_file_writer().add_summary(summary.pr_curve(tag, labels, predictions, num_thresholds, weights), global_step, walltime)

    def add_pr_curve_raw(
        self, tag, true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts, precision, recall,
        global_step=None, num_thresholds=127, weights=None, walltime=None,
    ):  # fmt: skip
        """Precision and recall by threshold, counted already."""
        counts = (true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts)
        self._get_file_writer().add_summary(summary.pr_curve_raw(tag, *counts, precision, recall, num_thresholds, weights), global_step, walltime)

    def add_custom_scalars(self, layout):
        """Charts of several tags of add_scalar: {category: {title: ["Multiline" or "Margin", tags]}}."""
        self._get_file_writer().add_summary(summary.custom_scalars(layout))

    def add_custom_scalars_multilinechart(self, tags, category="default", title="untitled"):
        """One chart with a line for each tag."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags, category="default", title="untitled"):
        """One chart with a value, and what it lies between: three tags."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_mesh(self, tag, vertices, colors=None, faces=None, config_dict=None, global_step=None, walltime=None):
        """Points or triangles in space."""
        self._get_file_writer().add_summary(summary.mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)

    def add_embedding(self, mat, metadata=None, label_img=None, global_step=None, tag="default", metadata_header=None):
        """Rows of a matrix for the projector, with labels and pictures of them: files in a folder beside the events."""
        where = write_embedding(self._get_file_writer().get_logdir(), mat, metadata, label_img, global_step or 0, tag, metadata_header)
        self._embeddings.append(where)
        write_projector_config(self.log_dir, self._embeddings)

    def add_hparams(self, hparam_dict, metric_dict, hparam_domain_discrete=None, run_name=None, global_step=None):
        """Hyperparameters and what they led to, as a run in a folder of its own."""
        parts = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        with SummaryWriter(os.path.join(self.log_dir, run_name or str(time.time()))) as writer:
            for part in parts:
                writer.file_writer.add_summary(part)
            for tag, value in metric_dict.items():
                writer.add_scalar(tag, value, global_step)

    def add_graph(self, model, input_to_model=None, verbose=False, use_strict_trace=True):
        """The graph of a module, from one run in evaluation mode on an input or a tuple of them. verbose: prints it, too."""
        from facula.nn import Module

        if not isinstance(model, Module) or input_to_model is None:
            what = "an input of it" if isinstance(model, Module) else f"a module, not {type(model).__name__}"
            raise TypeError(f"SummaryWriter.add_graph: the graph is recorded by a run and needs {what}: add_graph(model, input_to_model)")
        inputs = tuple(input_to_model) if isinstance(input_to_model, (tuple, list)) else (input_to_model,)
        nodes = _graph.record(model, inputs)
        if verbose:
            print(*(f"{name} = {kind}({', '.join(given)}) {attributes}" for name, kind, given, attributes, _ in nodes), sep="\n")
        events = self._get_file_writer().event_writer
        events.add(message(4, _graph.encoded(nodes)))
        events.add(message(8, message(1, "step1"), message(2, _graph.RUN_METADATA)))

    def add_onnx_graph(self, prototxt):
        """The graph in an ONNX file: they are not read here."""
        raise NotImplementedError("SummaryWriter.add_onnx_graph: Facula does not read ONNX files")

    def flush(self):
        """Writes out what is waiting."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self):
        """Writes out what is waiting and closes the files; a later call opens new ones."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
