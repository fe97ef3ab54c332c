"""Plans that are committed before the first training."""

import subprocess

import pytest

from studies import habits
from studies._frozen import git_state
from studies._plan import Plan


@pytest.fixture
def repository(tmp_path):
    """A repository with a committed plan, and a function that runs git in it."""

    def git(*words):
        name = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        command = ["git", "-C", str(tmp_path), *name, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    git("init", "-q")
    plan = tmp_path / "plan.toml"
    plan.write_text("margin = 0.25\n")
    git("add", "plan.toml")
    git("commit", "-q", "-m", "Plan")
    git_state.cache_clear()
    yield plan, git
    git_state.cache_clear()


def test_the_commit_is_the_last_one_that_touched_the_plan(repository):
    plan, git = repository
    first = git("rev-parse", "HEAD")
    (plan.parent / "other.txt").write_text("x")
    git("add", "other.txt")
    git("commit", "-q", "-m", "Something else")
    state = git_state(plan)
    assert state == {"plan_commit": first, "code_commit": git("rev-parse", "HEAD")}


@pytest.mark.parametrize("is_staged", [False, True])
def test_a_changed_plan_is_refused(repository, is_staged):
    plan, git = repository
    plan.write_text("margin = 0.5\n")
    if is_staged:
        git("add", "plan.toml")
    with pytest.raises(ValueError, match="a plan does not change"):
        git_state(plan)


def test_a_plan_without_a_commit_is_refused(repository, tmp_path):
    plan, _ = repository
    other = plan.with_name("other.toml")
    other.write_text("margin = 1\n")
    with pytest.raises(ValueError, match="must be committed"):
        git_state(other)


def test_a_folder_without_a_repository_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    git_state.cache_clear()
    with pytest.raises(ValueError, match="must be in a git repository"):
        git_state(tmp_path / "plan.toml")


def test_no_job_is_made_from_a_changed_plan(repository, monkeypatch):
    plan, _ = repository
    plan.write_text(habits.PLAN.text)
    monkeypatch.setattr(habits, "PLAN", Plan.read(plan))
    with pytest.raises(ValueError, match="a plan does not change"):
        habits.make_jobs(["date_fruit"])
