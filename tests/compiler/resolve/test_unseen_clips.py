"""Videos and audio that training would leave out, in every format of data sets."""

from typing import Any

import pytest

from ftc.compiler.resolve.content.markup import count_foreign
from ftc.compiler.resolve.content.scan import scan_rows
from ftc.compiler.resolve.content.unseen_clips import UnseenClips
from ftc.compiler.resolve.rows.example import read_example
from ftc.compiler.resolve.rows.roles import Roles, make_reader
from ftc.spec.sections import Cleaning

WAVE = b"RIFF\x24\0\0\0WAVEfmt "


def clips_of(column: str, cell: Any) -> tuple[dict[str, int], dict[str, int]]:
    """Return the columns of videos and of audio of three rows."""
    clips = UnseenClips(columns=["question", column])
    list(clips.watch(iter([{"question": "what is it?", column: cell}] * 3)))
    found = clips.found()
    return found["unseen_videos"], found["unseen_audio"]


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("video", "clips/0.mp4"),
        ("videos", ["a.mp4"]),
        ("film", "C:/films/one.MKV"),
        ("source", "https://a.example/one.webm?start=3#t=1"),
        ("video", "v_QOlSCBRmfWY"),
        ("video_path", "clips/0"),
        ("clip_url", "https://a.example/watch/17"),
        ("file", {"bytes": b"\0\0\0\x18ftypmp42", "path": None}),
        ("file", {"bytes": None, "path": "one.mov"}),
        ("file", b"\x1aE\xdf\xa3\x01"),
        ("file", b"RIFF\x24\0\0\0AVI LIST"),
        ("media", "data:video/mp4;base64,AAAA"),
        ("media", "['one.mp4']"),
        ("Vídeo", "one.mp4"),
    ],
)
def test_a_column_of_videos_is_found(column: str, cell: Any) -> None:
    """By its cells, or by its name where the cells have no ending."""
    assert clips_of(column, cell) == ({column: 3}, {})


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("audio", "clips/0.wav"),
        ("audios", ["a.mp3", "b.mp3"]),
        ("path", "cv-corpus/clips/common_voice_1.mp3"),
        ("audio", {"array": [0.0, 0.1], "sampling_rate": 16000, "path": None}),
        ("audio", {"bytes": WAVE, "path": "x"}),
        ("sound", b"fLaC\0\0"),
        ("speech", "session_3/turn_12"),
        ("media", "data:audio/wav;base64,AAAA"),
    ],
)
def test_a_column_of_audio_is_found(column: str, cell: Any) -> None:
    """As a file, an address or an array."""
    assert clips_of(column, cell) == ({}, {column: 3})


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("video", "A man opens a door and leaves."),
        ("audio", "yes"),
        ("audio", 2),
        ("video_title", "Rome2024"),
        ("notes", "convert it to .mp4\nor to .wav"),
        ("image", b"RIFF\x24\0\0\0WEBPVP8 "),
        ("image", "one.png"),
        ("video", None),
    ],
)
def test_texts_about_clips_are_none(column: str, cell: Any) -> None:
    """A title, an answer, a picture."""
    assert clips_of(column, cell) == ({}, {})


@pytest.mark.parametrize(
    ("prompt", "kind"),
    [
        ("<video>Describe it.", "video"),
        ("What is said?\n<audio>", "audio"),
        ("<|video_pad|> Describe it.", "video"),
        ("<|audio_1|>Transcribe.", "audio"),
        ("Look at <video>clips/1.mp4</video> and answer.", "video"),
        ("clips/1.flac", "audio"),
        ("How does <video> differ from an image?", None),
        ("Which HTML tag plays a film: <video>", None),
        ("<video><source src='a.mp4'></video> is not shown. Why not?", None),
        ("Convert a.mp4 to a.wav.", None),
        ("Where is it?", None),
    ],
)
def test_a_prompt_that_names_a_clip_is_counted(prompt: str, kind: str | None) -> None:
    """By a placeholder at an end of its text, or by being the path of one."""
    roles = Roles(form="prompt_completion", prompt="prompt", completion="answer")
    row = {"prompt": prompt, "answer": "It is a door."}
    example = read_example(row, make_reader(roles), repair=False)
    assert not isinstance(example, str)
    found = count_foreign([example.texts])
    assert {name for name in found if name in ("video", "audio")} == ({kind} - {None})


@pytest.mark.parametrize(
    ("part", "fault"),
    [
        ({"video": {"format": "mp4", "source": {"bytes": "AAAA"}}}, "video"),
        ({"audio": "a.wav"}, "audio"),
        ({"inlineData": {"mimeType": "audio/mp3", "data": "AAAA"}}, "audio"),
        ({"file_data": {"mime_type": "video/mp4", "file_uri": "a"}}, "video"),
        ({"type": "audio_url", "audio_url": {"url": "a.wav"}}, "audio"),
        ({"text": 7, "audio": None}, "no_turn"),
    ],
)
def test_a_part_without_a_type_is_named(part: Any, fault: str) -> None:
    """Under the key of its kind, or as a file with its type."""
    asked = {"role": "user", "content": [{"text": "what is it?"}, part]}
    row = {"messages": [asked, {"role": "assistant", "content": "a door"}]}
    scan = scan_rows([row], Roles(form="chat", messages="messages"), Cleaning(), sample=False)
    assert dict(scan.faults) == {fault: 1}
