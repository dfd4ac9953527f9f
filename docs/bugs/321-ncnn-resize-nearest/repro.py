"""ncnn 1.0.20261020: Resize to the nearest ignores coordinate_transformation_mode and nearest_mode

Seen with ncnn 1.0.20261020; needs numpy, onnx, ncnn, pnnx (its program alone, so without PyTorch). Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: Resize-13, coordinate_transformation_mode, of "align_corners": "x_original = x_resized * (length_original - 1) / (length_resized -
1)", here 0 and 3.
  https://onnx.ai/onnx/operators/onnx__Resize.html
"""
import importlib.util, os, subprocess, sys, tempfile
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
import ncnn
inputs = {'x': np.array([[[[0, 1, 2, 3]]]], 'float32')}
model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 13]>
g (float[1,1,1,4] x) => (float[1,1,1,2] y)
<int64[4] s = {1, 1, 1, 2}>
{
   y = Resize <mode: string = "nearest", coordinate_transformation_mode: string = "align_corners"> (x, "", "", s)
}
""")
program = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")
with tempfile.TemporaryDirectory() as folder:
    onnx.save(model, os.path.join(folder, "model.onnx"))
    subprocess.run([program, "model.onnx", "fp16=0"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    net = ncnn.Net()
    net.load_param(folder + "/model.ncnn.param")
    net.load_model(folder + "/model.ncnn.bin")
with net.create_extractor() as run:
    for number, value in enumerate(inputs.values()):
        run.input(f"in{number}", ncnn.Mat(value, batch_index=0).clone())
    got = [run.extract("out0")[1].numpy(batch_index=0)]
expected = np.array([[[[0, 3]]]], 'float32')
print("expected", expected.tolist(), "got", got[0].dtype, got[0].tolist())
shows = got[0].shape != expected.shape or not np.allclose(got[0], expected, rtol=1e-4, atol=1e-6)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
