import pytest

from sklearn_superior.utils._optional import import_optional


def test_missing_package_names_caller_and_extra():
    message = (
        r"CNNClassifier needs no_such_package, .* "
        r'`pip install "sklearn-superior\[torch\]"`'
    )
    for name in ("no_such_package", "no_such_package.nn"):
        with pytest.raises(ImportError, match=message):
            import_optional(name, caller="CNNClassifier", extra="torch")


def test_broken_package_keeps_its_own_error(tmp_path, monkeypatch):
    (tmp_path / "half_installed.py").write_text("import not_there_either")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="not_there_either"):
        import_optional("half_installed", caller="this test", extra="test")
