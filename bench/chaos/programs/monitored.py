import sys
import threading

from training import Training

calls = []
training = Training()
if hasattr(sys, "monitoring"):  # Python 3.12
    tool = sys.monitoring.PROFILER_ID
    print(sys.monitoring.get_tool(tool), sys.monitoring.get_tool(sys.monitoring.DEBUGGER_ID))
    sys.monitoring.use_tool_id(tool, "mine")
    event = sys.monitoring.events.PY_START
    code = Training.train.__code__
    sys.monitoring.register_callback(tool, event, lambda code, at: calls.append(code.co_name))
    sys.monitoring.set_local_events(tool, code, event)
threading.setprofile(lambda frame, event, given: None)
print(training.train(50), calls[:5])
threading.setprofile(None)
training.keep()
