"""The pages: everything can be seen, what people wrote is only ever text, and buttons act as the chosen person."""

from typing import Any

REPO = "octo/demo"
PAGE = "/octo/demo/issues/1"


def test_hostile_text_is_shown_and_never_run(public: Any) -> None:
    public.control.add_user("kit")
    public.control.open_issue(REPO, "outsider", "<script>1</script>", "<img src=x onerror=alert(1)>")
    public.control.comment(
        REPO, 1, '**bold** <script>2</script>\n\n<!-- marker -->\n[x](javascript:alert(1)) <br onload=1>', "outsider"
    )
    page = public.http.get(PAGE)
    assert page.status_code == 200
    assert "<script" not in page.text and "<img src=x" not in page.text and 'href="javascript' not in page.text
    assert "<br onload" not in page.text and "marker" not in page.text
    assert "<strong>bold</strong>" in page.text and "&lt;script&gt;2&lt;/script&gt;" in page.text
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src" not in policy and "unsafe" not in policy


def test_details_blocks_fold_and_hidden_comments_are_folded(yard: Any) -> None:
    yard.control.open_issue(REPO, "mira", "A bug", "<details><summary>More</summary>\n\ninside\n\n</details>")
    comment = yard.control.comment(REPO, 1, "old plan", "mira")
    yard.control.minimize(comment["id"], "mira")
    text = yard.http.get(PAGE).text
    assert "<details><summary>More</summary>" in text and "Hidden as outdated" in text


def test_a_pull_request_page_shows_conversation_and_coloured_diff(yard: Any) -> None:
    headers = yard.token()
    yard.branch(headers, "fix", {"src/app.py": "x = 1\ny = '<b>'\n"})
    yard.call("POST", "/pulls", headers, {"title": "Fix", "head": "fix", "base": "main", "draft": True})
    text = yard.http.get("/octo/demo/pull/1").text
    assert '<span class="removed">-y = 2\n</span>' in text and "+y = &#39;&lt;b&gt;&#39;" in text
    assert "Draft" in text and "src/app.py" in text and "countersign[bot]" in text


def test_buttons_label_approve_and_react_as_the_chosen_person(yard: Any) -> None:
    yard.control.open_issue(REPO, "mira", "A bug")
    form = {"repo": REPO, "number": "1", "as_login": "mira", "back": PAGE}

    def press(**more: str) -> Any:
        return yard.http.post("/_twin/act", data={**form, **more})

    assert press(deed="label", label="countersign").headers["location"] == PAGE
    press(deed="comment", body="/approve")
    (comment,) = yard.control.comments(REPO, 1)
    press(deed="react", comment_id=str(comment["id"]), content="+1")
    assert yard.control.comments(REPO, 1)[0]["reactions"]["+1"] == 1
    assert [one["name"] for one in yard.control.issue(REPO, 1)["labels"]] == ["countersign"]
    refused = press(deed="label", label="bug", as_login="outsider")
    assert refused.headers["location"].startswith(f"{PAGE}?said=")
    assert "/approve" in yard.http.get(PAGE).text


def test_a_form_of_another_site_and_an_act_that_is_not_offered_do_nothing(yard: Any) -> None:
    yard.control.open_issue(REPO, "mira", "A bug")
    form = {"repo": REPO, "number": "1", "as_login": "mira", "deed": "comment", "body": "x", "back": "//elsewhere"}
    foreign = yard.http.post("/_twin/act", data=form, headers={"Origin": "http://elsewhere.test"})
    assert foreign.status_code == 403 and yard.control.comments(REPO, 1) == []
    assert yard.http.post("/_twin/act", data=form).headers["location"] == "/"
    yard.http.post("/_twin/act", data={**form, "deed": "delete_repo"})
    assert yard.control.branches(REPO)


def test_every_page_of_a_repository_answers_and_none_is_in_the_journal(yard: Any) -> None:
    yard.control.open_issue(REPO, "mira", "A bug", labels=["bug"])
    sha = yard.control.branches(REPO)["main"]
    for path in ("/", "/octo/demo", PAGE, "/octo/demo/branches", "/octo/demo/tree/main", f"/octo/demo/commit/{sha}"):
        page = yard.http.get(path)
        assert page.status_code == 200 and page.headers["content-type"].startswith("text/html"), path
    assert yard.control.journal() == []
    assert yard.http.get("/octo/nowhere").status_code == 404
    yard.call("GET", "", yard.token(contents="write"))
    journal = yard.http.get("/_twin/journal").text
    assert "contents: write" in journal and "GET /repos/octo/demo" in journal
    assert yard.http.get("/_twin/style.css").status_code == 200
    assert yard.http.get("/_twin/avatars/7").headers["content-type"].startswith("image/svg+xml")


def test_control_calls_need_json_so_that_no_web_page_can_make_them(yard: Any) -> None:
    plain = {"content-type": "text/plain"}
    assert yard.http.post("/_twin/do/set_clock", content='{"offset": 10}', headers=plain).status_code == 415
    assert yard.twin.forge.world.clock_offset == 0
