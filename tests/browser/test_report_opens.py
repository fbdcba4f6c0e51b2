"""One look at the report in the first stage of the tests; all others are in test_report_page."""

from tests.report.examples import synthetic


def test_the_report_opens_offline_without_a_complaint(tmp_path, visit):
    opened = visit(synthetic(12).to_html(tmp_path / "report.html"))
    assert opened.complaints == []
    assert opened.requests == [(tmp_path / "report.html").as_uri()]
    assert opened.page.locator("[data-table=cases] tbody tr").count() == 25
