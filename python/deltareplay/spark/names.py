"""Names of the columns that a scan adds."""

FILE_PATH = "_file_path"
ROW_INDEX = "_row_index"
ROW_ID = "_row_id"
ROW_COMMIT_VERSION = "_row_commit_version"

#: Columns that no result has: the position of a row in its file, and constants of files.
ROW_NUMBER = "__deltareplay_row_number"
VECTOR = "__deltareplay_vector"
BASE_ROW_ID = "__deltareplay_base_row_id"
DEFAULT_VERSION = "__deltareplay_default_version"
LOG_PATH = "__deltareplay_log_path"


def quoted(name: str) -> str:
    """A name as an argument of ``sf.col``: dots are not paths, and backticks are doubled.

    >>> quoted("a.b")
    '`a.b`'
    """
    return "`" + name.replace("`", "``") + "`"
