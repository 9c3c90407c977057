# docker build -t ident . && docker run --rm -v "$PWD":/data ident run experiment
FROM python:3.12-slim
COPY . /source
RUN pip install --no-cache-dir -c /source/constraints.txt "/source[all]" && rm -rf /source && useradd --create-home --uid 1000 ident
USER 1000
WORKDIR /data
ENTRYPOINT ["ident"]
CMD ["--help"]
