"""State made at import: forked processes have the same, new ones another."""
import uuid

TOKEN = uuid.uuid4().hex
