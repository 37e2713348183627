"""Prompt token ids in, a stream of text out; knows nothing of customers, orders or databases' rows.

``messages`` says what travels, ``store`` changes the jobs, ``journal`` reads answers as they grow,
``dispatch`` is what a web server calls, ``host`` is what runs beside the engine.
"""
