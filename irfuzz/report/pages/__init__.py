"""Pages for people: a campaign, each of its findings, and programs as graphs, as files that need no server.

Whoever opens a page may be offline, may have scripts turned off, and must not be harmed by a model. So a page is one
HTML file with all that it says in its text; a style sheet and one small script lie beside it, or inside of it if the
page is to travel alone (``PageAssets``). What the script adds is comfort: graphs that zoom, lists that filter, buttons
that copy.

What every file relies on:

* Text of models, components and people becomes HTML through ``html_elements`` only, which escapes whatever is not
  ``Markup``. Data for the script is JSON in which ``<``, ``>`` and ``&`` are escaped, which it shows as text.
* Every page has a content security policy: its own script runs, and nothing is connected to.
* The functions that make pages are pure: the same finding gives the same page. ``site_files`` alone writes.
* Without a script a page says the same, but for the graph, in whose place stands the program's text.

The way through the files:

* ``html_elements`` makes HTML; ``page_frame`` the head, the style and the script of a page; ``markdown_text`` makes
  HTML of reports.
* ``index_page`` is the page of a campaign (``CampaignSummary``), ``finding_page`` that of a finding.
* ``program_graph`` turns a model into what the script draws, ``repeated_blocks`` finds what it may draw once.
* ``value_pictures`` draws outputs and their difference, ``line_charts`` curves and bars.
* ``site_files`` writes the pages of a campaign into a folder.
* ``script`` holds the script: its sources, the file that is built of them, and how (``script/README.md``).

To add a section to a page, write a function that returns ``Markup`` and put it into ``finding_page`` or
``index_page``; ``tests/report/pages`` opens every page in Chromium, if that is installed, and looks at its errors,
its accessibility and the time that it takes. After a change of ``script/src`` build the file again.

Do not put text into a page by an f-string, and do not load anything from elsewhere.
"""
