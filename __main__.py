"""The Pulumi program: `pulumi preview` and `pulumi up` in this directory do what `chandlery preview` and `chandlery up` do."""

from base.events import QuietReporter
from base.places import state_dir
from cli.context import App
from cli.session import declaration, recorded_session
from components import entry

entry.run(lambda spec: declaration(recorded_session(App(state_dir(), as_json=False, reporter=QuietReporter()), spec)))
